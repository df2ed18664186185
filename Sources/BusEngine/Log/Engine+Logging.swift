import BusJSON
import BusLogic
import BusProtocol

/// What a commit is besides its actions, for the log.
struct CommitFacts {
    var key: Engine.Keyed?
    /// The connection whose end it is.
    var ended: ConnectionID?
    var reverted: Reversion?
    /// Definitions that came into force, and names of those that went.
    var definitions: [JSON] = []
    var undefined: [String] = []

    var isEmpty: Bool {
        key == nil && ended == nil && reverted == nil && definitions.isEmpty && undefined.isEmpty
    }

    struct Reversion {
        let store: String
        let to: Int
    }
}

/// Commits become lines of the action log, and what the engine says waits until they stand on disk.
extension Engine {
    /// Whether everything that was committed stands on disk, or need not.
    var isDurable: Bool { !isLogged || (inFlight == nil && gathering.isEmpty) }

    /// Writes down the commit being published, while its plan and its stores are still there. `states`: stores whose
    /// whole state was put in place of the old one.
    func log(
        by: [UInt8], actions: Bool, created: [Int32], dropped: [Int32], states: [Int32] = [],
        _ facts: CommitFacts
    ) {
        let isMore = !facts.isEmpty || !created.isEmpty || !dropped.isEmpty || !states.isEmpty
        gathering.add(at: now, alone: isMore) { line in
            appendTime(to: line)
            line.append(",\"by\":")
            by.withUnsafeBytes { line.append($0) }
            line.append(",\"actions\":[")
            if actions {
                for (index, action) in plan.actions.elements.enumerated() {
                    line.append(index == 0 ? "{" : ",{")
                    append(action, to: line)
                    line.append(UInt8(ascii: "}"))
                }
            }
            line.append(UInt8(ascii: "]"))
            if let key = facts.key { append(key, to: line) }
            if !created.isEmpty { append(created: created[0], to: line) }
            if !states.isEmpty { append(states: states, to: line) }
            if !dropped.isEmpty { append(dropped: dropped, to: line) }
            append(facts, to: line)
        }
    }

    /// `,"time":1795219985.072`, made once per turn.
    private func appendTime(to line: ByteWriter) {
        if loggedTime.milliseconds != now || loggedTime.text.isEmpty {
            loggedTime.milliseconds = now
            loggedTime.text.clear()
            loggedTime.text.append(",\"time\":")
            append(milliseconds: now, to: loggedTime.text)
        }
        line.append(loggedTime.text.bytes)
    }

    private func append(_ key: Keyed, to line: ByteWriter) {
        line.append(",\"key\":")
        line.append(quoted: String(decoding: key.id.key, as: UTF8.self))
        line.append(",\"digest\":\"")
        line.append(raw: HandOver.text(of: key.digest))
        line.append(UInt8(ascii: "\""))
    }

    private func append(created index: Int32, to line: ByteWriter) {
        append(",\"created\":{", [index], to: line)
        let owner = Int(stores.pointer(index).pointee.owner)
        if owner >= 0 {
            line.append(",\"connection\":")
            line.append(decimal: owner)
        }
    }

    private func append(states: [Int32], to line: ByteWriter) { append(",\"states\":{", states, to: line) }

    private func append(_ opening: StaticString, _ indices: [Int32], to line: ByteWriter) {
        line.append(opening)
        for (place, index) in indices.enumerated() {
            if place > 0 { line.append(UInt8(ascii: ",")) }
            line.append(quoted: address(of: Int(index)))
            line.append(UInt8(ascii: ":"))
            line.append(jsonObject: stores.pointer(index).pointee.state)
        }
        line.append(UInt8(ascii: "}"))
    }

    private func append(dropped: [Int32], to line: ByteWriter) {
        line.append(",\"dropped\":[")
        for (place, index) in dropped.enumerated() {
            if place > 0 { line.append(UInt8(ascii: ",")) }
            line.append(quoted: address(of: Int(index)))
        }
        line.append(UInt8(ascii: "]"))
    }

    private func append(_ facts: CommitFacts, to line: ByteWriter) {
        if let reverted = facts.reverted {
            line.append(",\"reverted\":{\"store\":")
            line.append(quoted: reverted.store)
            line.append(",\"to\":")
            line.append(decimal: reverted.to)
            line.append(UInt8(ascii: "}"))
        }
        if !facts.definitions.isEmpty {
            line.append(",\"definitions\":")
            line.append(jsonArray: facts.definitions)
        }
        if !facts.undefined.isEmpty {
            line.append(",\"undefined\":")
            line.append(jsonArray: facts.undefined.map(JSON.string))
        }
        if let ended = facts.ended {
            line.append(",\"ended\":")
            line.append(decimal: ended)
        }
    }

    /// A will has been left or taken back; who comes after a crash carries it out.
    func logWill(of connection: Connection) {
        guard isLogged else { return }
        connection.isNoted = true
        gathering.addNote(at: now) { line in
            line.append("{\"will\":")
            line.append(jsonArray: connection.will.map(\.json))
            line.append(",\"connection\":")
            line.append(decimal: connection.id)
            line.append(",\"by\":")
            connection.by.withUnsafeBytes { line.append($0) }
            line.append(UInt8(ascii: "}"))
        }
    }

    /// A connection has ended without a commit.
    func logEnd(of connection: Connection) {
        guard isLogged else { return }
        gathering.addNote(at: now) { line in
            line.append("{\"ended\":")
            line.append(decimal: connection.id)
            line.append(UInt8(ascii: "}"))
        }
    }
}
