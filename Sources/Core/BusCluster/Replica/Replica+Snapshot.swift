import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// A replica as bytes, so that a machine that is new, or was away for too long, goes on from there.
///
/// These are records as in a snapshot of the state machine, which is one of them. The last one has a digest of all bytes,
/// the first one a digest of the states, which is computed again from what was restored.
extension Replica {
    private static let form = 1

    package func snapshot() -> [UInt8] {
        let writer = RecordWriter()
        writer.record("cluster") { record in
            record("form", .int(Self.form))
            record("digest", .string(machine.stateDigest))
            record("limits", machine.limits.json)
            if !hasBegun { record("begun", false) }
            record("rules", .int(machine.rules))
            record("epochs", .array(earlierEpochs.map(JSON.string)))
        }
        if !omitted.contains(.snapshotMembers) { writeMembers(to: writer) }
        if !omitted.contains(.snapshotSessions) { writeSessions(to: writer) }
        let links = omitted.contains(.snapshotLinks) ? ArraySlice([link]) : links.kept
        var chain = CompactWriter()
        for link in links { chain.add(link) }
        chain.bytes.withUnsafeBytes { bytes in
            writer.record("links", data: bytes) { $0("count", .int(links.count)) }
        }
        // Bytes are there as long as who has written them.
        let states = machine.snapshot()
        withExtendedLifetime(states) { writer.record("machine", data: states.bytes) { _ in } }
        let all = writer.finished()
        return withExtendedLifetime(all) { Array(all.bytes) }
    }

    private func writeMembers(to writer: RecordWriter) {
        for (name, member) in members.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            writer.record("member") { record in
                record("name", .string(name))
                record("incarnation", .int(member.incarnation))
                record("number", .int(member.number))
                if let clock = member.clock { record("clock", .int(clock)) }
            }
        }
    }

    private func writeSessions(to writer: RecordWriter) {
        let held = sessions.held.sorted {
            $0.key.member == $1.key.member
                ? $0.key.number < $1.key.number : UTF8Order.precedes($0.key.member, $1.key.member)
        }
        for (key, held) in held {
            writer.record("held") { record in
                record("member", .string(key.member))
                record("number", .int(key.number))
                if let session = held.session { record("session", .int(session)) }
                guard let name = held.name else { return }
                record("name", .string(name))
                record("linger", .int(held.linger))
                if held.isOperator { record("operator", true) }
                switch held.identity {
                case .uid(let uid): record("uid", .int(uid))
                case .user(let uid, let member):
                    record("uid", .int(uid))
                    record("of", .string(member))
                case .token(let token): record("token", .string(token))
                case .certificate(let name): record("certificate", .string(name))
                case nil: break
                }
            }
        }
        for lingering in sessions.lingering {
            writer.record("lingering") { record in
                record("session", .int(lingering.session))
                record("deadline", .int(lingering.deadline))
            }
        }
    }

    /// Restores a replica. Throws, with a sentence that says why, where the bytes are not what a replica has written.
    ///
    /// - Parameters:
    ///   - known: Types that need not be compiled from their definitions; those in code can't be.
    ///   - hashSeed: A secret of the caller; see `StateMachine`.
    ///   - sink: Makes the commits of the machine; nil: commits without subscribers.
    package convenience init(
        restoring bytes: UnsafeRawBufferPointer, knowing known: [any StateType] = [], hashSeed: UInt64,
        history: HistoryLimits = HistoryLimits(), sink: ((StateMachine) -> any CommitSink)? = nil,
        omitting omitted: OmittedRules = []
    ) throws(TransferFailure) {
        let machine = StateMachine(replayingWith: known, epoch: "", hashSeed: hashSeed)
        self.init(machine, sink: sink?(machine), history: history, omitting: omitted)
        var records = RecordReader(bytes)
        guard let head = try records.next(), head.kind == "cluster", try head.integer("form") == Self.form
        else { throw TransferFailure("This version can't read this snapshot; take another one.") }
        var isComplete = (links: false, machine: false)
        while let record = try records.next() {
            switch record.kind {
            case "member": try takeMember(record)
            case "held": try takeHeld(record)
            case "lingering":
                sessions.wait(try record.integer("session"), until: try record.integer("deadline"))
            case "links" where !isComplete.links:
                try takeLinks(record)
                isComplete.links = true
            case "machine" where !isComplete.machine:
                try machine.restore(record.data)
                isComplete.machine = true
            default:
                throw TransferFailure("The snapshot holds a \(record.kind), which is unknown here.")
            }
        }
        guard isComplete == (true, true) else {
            throw TransferFailure("The snapshot is not complete; take another one.")
        }
        hasBegun = head.members["begun"]?.bool ?? true
        // Snapshots of the first rules do not say so.
        let rules = head.members["rules"]?.int ?? 1
        guard 1...ClusterLimits.rules ~= rules else {
            throw TransferFailure("The snapshot is of rules that are unknown here; take another one.")
        }
        machine.rules = rules
        earlierEpochs = (head.members["epochs"]?.array ?? []).compactMap(\.string)
        do throws(RequestError) {
            machine.limits = try BusLimits(head.members["limits"] ?? [:], instead: BusLimits())
        } catch {
            throw TransferFailure(error.message)
        }
        guard try head.string("digest") == machine.stateDigest else {
            throw TransferFailure(
                "The states of the snapshot are not those it was made of; take one from another member.")
        }
    }

    private func takeMember(_ record: TransferRecord) throws(TransferFailure) {
        var member = ReplicaMember(incarnation: try record.integer("incarnation"))
        member.number = try record.integer("number")
        if record.members["clock"] != nil { member.clock = try record.integer("clock") }
        members[try record.string("name")] = member
    }

    private func takeHeld(_ record: TransferRecord) throws(TransferFailure) {
        var held = ReplicaSessions.Held()
        held.session = record.members["session"]?.int
        if let name = record.members["name"]?.string {
            held.name = name
            held.linger = try record.integer("linger")
            held.isOperator = record.members["operator"]?.bool ?? false
            if let uid = record.members["uid"]?.int {
                held.identity =
                    record.members["of"]?.string.map { .user(uid, member: $0) } ?? .uid(uid)
            } else if let token = record.members["token"]?.string {
                held.identity = .token(token)
            } else if let name = record.members["certificate"]?.string {
                held.identity = .certificate(name)
            }
        }
        let key = SessionKey(member: try record.string("member"), number: try record.integer("number"))
        sessions.hold(held, by: key)
    }

    private func takeLinks(_ record: TransferRecord) throws(TransferFailure) {
        let count = try record.integer("count")
        guard 1...history.links ~= count else { throw record.missing("count") }
        var reader = CompactReader(Array(record.data))
        var all: [ChainLink] = []
        for _ in 0..<count {
            guard let link = reader.link(), link.place > all.last?.place ?? -1 else {
                throw record.missing("link")
            }
            all.append(link)
        }
        guard reader.isAtEnd else { throw record.missing("count") }
        links = ChainLinks(all, most: history.links)
    }

    /// Equal where two replicas are: all that later entries can depend on, as far as it can be told.
    package var digest: String {
        let writer = RecordWriter()
        writeMembers(to: writer)
        writeSessions(to: writer)
        let all = writer.finished()
        let digest = withExtendedLifetime(all) { DeduplicationTable.digest(of: all.bytes) }
        return "\(link.place) \(link.input.text) \(link.output.text) \(machine.epoch) \(machine.revision) "
            + "\(machine.time) \(machine.stateDigest) \(digest.first) \(digest.second)"
    }
}
