import BusJSON
import BusProtocol

/// Timers in snapshots, hand-overs and digests.
extension StateMachine {
    /// Writes the timers and leases, in the order in which they were set, which decides between those due at one time.
    func writeTimers(to writer: RecordWriter, keptOnly: Bool = false) {
        for timer in timersInOrder where !keptOnly || isKept(timer.owner) {
            writer.record("timer") { record in
                for member in self.record(of: timer).members { record(member.key, member.value) }
            }
        }
    }

    /// In the order in which they were set.
    var timersInOrder: [BusTimer] {
        var all: [BusTimer] = []
        timers.forEach { all.append($0) }
        return all.sorted { $0.order < $1.order }
    }

    func record(of timer: BusTimer) -> JSONObject {
        var record = JSONObject()
        switch timer.owner {
        case .store(let index): record["store"] = .string(address(of: Int(index)))
        case .type(let name): record["type"] = .string(name)
        }
        record["due"] = .int(timer.due)
        switch timer.purpose {
        case .lease(let length): record["ttl"] = .int(length)
        case .action(let action, let payload, let principal):
            record["timer"] = .string(timer.name)
            record["action"] = .string(action)
            record["payload"] = .object(payload)
            if let every = timer.every { record["every"] = .int(every) }
            if timer.isRequested { record["requested"] = true }
            record["by"] = (try? JSON(parsing: principal.by)) ?? [:]
        }
        return record
    }

    /// Takes a timer or a lease from a record; its store is there already.
    func takeTimer(_ record: TransferRecord) throws(TransferFailure) {
        let owner: TimerOwner
        if let address = record.members["store"]?.string {
            guard let index = find(address) else { throw record.missing("store") }
            owner = .store(index)
        } else {
            owner = .type(try record.string("type"))
        }
        let due = try record.integer("due")
        if record.members["ttl"] != nil {
            guard case .store(let index) = owner, lease(of: index) == nil else {
                throw record.missing("store")
            }
            return lease(index, for: try record.integer("ttl"), until: due)
        }
        let name = try record.string("timer")
        guard !name.isEmpty, timers.find(name, from: firstTimer(of: owner)) == nil else {
            throw record.missing("timer")
        }
        let every = record.members["every"] == nil ? nil : try record.integer("every")
        if let every, every < DurationText.shortest { throw record.missing("every") }
        guard let principal = principal(by: try record.object("by")) else { throw record.missing("by") }
        restore(
            BusTimer(
                owner: owner, name: name, due: due, every: every,
                isRequested: record.members["requested"] == true,
                .action(
                    try record.string("action"), payload: try record.object("payload"), by: principal)))
    }

    /// Writes what the digest covers of timers, in the order in which they are due; nothing where there are none.
    func forEachTimerLine(leavingOut types: Set<String>, _ body: (ByteWriter) -> Void) {
        if timers.isEmpty { return }
        let line = ByteWriter()
        for timer in timers.inOrder where isKept(timer.owner) {
            if !types.isEmpty, types.contains(String(name(of: timer.owner).prefix { $0 != "/" })) { continue }
            line.clear()
            if let length = timer.lease {
                line.append(quoted: name(of: timer.owner))
                line.append(decimal: timer.due)
                line.append(UInt8(ascii: ","))
                line.append(decimal: length)
            } else {
                append(timer, by: true, to: line)
            }
            body(line)
        }
    }
}
