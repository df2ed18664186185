import BusJSON
import BusProtocol

/// What a commit does to timers besides its actions.
package enum TimerStep {
    /// A dispatch is to be carried out later.
    case scheduled(BusTimer)
    /// A timer is taken away.
    case cancelled(owner: String, isStore: Bool, name: String)
    /// A timer was due. The commit has its action, unless that was refused.
    case fired(BusTimer)
    /// The clock was set back by this many milliseconds, and all timers and leases were moved back with it.
    case advanced(by: Int)
}

/// Timers in the log. What `timers:` of an action does is not in it: the action does the same again.
extension StateMachine {
    /// Writes a step as members of an entry, each behind a comma.
    func append(_ step: TimerStep, to line: ByteWriter) {
        switch step {
        case .scheduled(let timer):
            line.append(",\"scheduled\":")
            append(timer, by: false, to: line)
        case .cancelled(let owner, let isStore, let name):
            line.append(",\"cancelled\":{")
            append(owner: owner, isStore: isStore, name, to: line)
            line.append(UInt8(ascii: "}"))
        case .fired(let timer):
            line.append(",\"fired\":{")
            append(ownerOf: timer, to: line)
            appendInterval(of: timer, to: line)
            line.append(UInt8(ascii: "}"))
        case .advanced(let milliseconds):
            line.append(",\"advanced\":", json: DurationText.seconds(milliseconds))
        }
    }

    /// A timer as an object, with who asked for it or without.
    package func append(_ timer: BusTimer, by isShown: Bool, to line: ByteWriter) {
        guard case .action(let action, let payload, let principal) = timer.purpose else { return }
        line.append(UInt8(ascii: "{"))
        append(ownerOf: timer, to: line)
        line.append(",\"due\":", json: DurationText.seconds(timer.due))
        appendInterval(of: timer, to: line)
        line.append(",\"action\":", quoted: action)
        line.append(",\"payload\":", jsonObject: payload)
        if isShown {
            line.append(",\"by\":")
            principal.by.withUnsafeBytes { line.append($0) }
        }
        line.append(UInt8(ascii: "}"))
    }

    private func appendInterval(of timer: BusTimer, to line: ByteWriter) {
        if let every = timer.every { line.append(",\"every\":", json: DurationText.seconds(every)) }
    }

    private func append(ownerOf timer: BusTimer, to line: ByteWriter) {
        let isStore = if case .store = timer.owner { true } else { false }
        append(owner: name(of: timer.owner), isStore: isStore, timer.name, to: line)
    }

    private func append(owner: String, isStore: Bool, _ name: String, to line: ByteWriter) {
        line.append(isStore ? "\"store\":" : "\"type\":")
        line.append(quoted: owner)
        line.append(",\"timer\":", quoted: name)
    }

    /// `,"ttl":3600`, of a store that is created with a lease.
    func appendLease(of store: Int32, to line: ByteWriter) {
        guard let length = lease(of: store) else { return }
        line.append(",\"ttl\":", json: DurationText.seconds(length))
    }

    // MARK: Replay

    /// Replays what an entry does to timers, before its actions. Returns what its key is remembered with, if it has
    /// scheduled a dispatch.
    func replayTimers(of entry: JSONObject, by principal: Principal) throws(RequestError) -> Int? {
        for member in ["fired", "cancelled"] {
            guard let step = entry[member] else { continue }
            guard let name = step["timer"]?.string, let timer = self.timer(name, of: try timerOwner(step))
            else {
                throw RequestError(.internal, "it names a timer that is not there")
            }
            take(timer)
            if member == "fired" { setAgain(timer) }
        }
        if let advanced = entry["advanced"] {
            guard let milliseconds = DurationText.milliseconds(of: advanced) else {
                throw RequestError(.internal, "it does not say by how much the time has gone back")
            }
            advanceTimers(by: milliseconds)
        }
        guard let scheduled = entry["scheduled"] else { return nil }
        guard let name = scheduled["timer"]?.string, !name.isEmpty,
            let due = DurationText.milliseconds(of: scheduled["due"] ?? .null),
            let action = scheduled["action"]?.string, let payload = scheduled["payload"]?.object
        else { throw RequestError(.internal, "it schedules no timer") }
        try set(
            BusTimer(
                owner: try timerOwner(scheduled), name: name, due: due,
                isRequested: rules >= BusLimits.rulesOfCopies,
                .action(action, payload: payload, by: principal.asker)))
        return due
    }

    /// The lease of a store that an entry creates.
    func replayLease(of entry: JSONObject, _ store: Int32) throws(RequestError) {
        guard let ttl = entry["ttl"] else { return }
        guard let length = DurationText.milliseconds(of: ttl) else {
            throw RequestError(.internal, "it gives a store no time to live")
        }
        lease(store, for: length)
    }

    private func timerOwner(_ step: JSON) throws(RequestError) -> TimerOwner {
        if let address = step["store"]?.string { return .store(try requireStore(address).1) }
        guard let type = step["type"]?.string else {
            throw RequestError(.internal, "it names neither a store nor a type of a timer")
        }
        return .type(type)
    }
}
