import BusJSON
import BusMachine
import BusProtocol
import BusState

/// How requests name stores and parts of them, and the session that a client wants.
extension RequestReader {
    /// The stores named by `store`, `type` or `match`; nil where none of them is given. For the past, the types that existed
    /// then are not known here.
    func pattern(in machine: StateMachine, ofPast: Bool = false) throws(RequestError) -> AddressPattern? {
        let match = try string(.match)
        let given = [present.contains(.store), present.contains(.type), match != nil]
        guard given.filter({ $0 }).count <= 1 else {
            throw .invalid("match", "Give one of `store`, `type` and `match`, not several.")
        }
        if present.contains(.store) {
            _ = try machine.requireAddress(store)
            return AddressPattern(store)
        }
        if present.contains(.type) {
            if ofPast, Names.isTypeName(type) {
                return AddressPattern(type: String(decoding: type, as: UTF8.self))
            }
            return AddressPattern(type: try machine.requireType(type).name)
        }
        guard let match else { return nil }
        var text = match
        guard let pattern = text.withUTF8({ AddressPattern(UnsafeRawBufferPointer($0)) }) else {
            throw .invalid(
                "match",
                "`\(match.shortened(to: 200))` is not a pattern of addresses; it has exactly one slash, as counter/* has."
            )
        }
        return pattern
    }

    /// The same where one of them has to be given.
    func requiredPattern(
        in machine: StateMachine, ofPast: Bool = false
    ) throws(RequestError) -> AddressPattern {
        guard let pattern = try pattern(in: machine, ofPast: ofPast) else {
            throw .invalid("store", "Name what is meant with one of `store`, `type` and `match`.")
        }
        return pattern
    }

    /// The parts of states that a request wants; nil: all of them. What it costs is counted before anything is done.
    func selection(_ clock: TurnClock) throws(RequestError) -> Selection? {
        guard let list = try array(.select) else { return nil }
        guard !list.isEmpty else {
            throw .invalid("select", "`select` is empty; leave it out to get whole states.")
        }
        guard list.count <= DaemonLimits.pointers else {
            throw RequestError(
                .limit, "`select` takes at most \(DaemonLimits.pointers) pointers; select their parent.")
        }
        let depth = clock.limits.depth
        let tooLong = RequestError(
            .tooLarge,
            "A pointer of `select` has at most \(DaemonLimits.pointerBytes) bytes and \(depth) segments; select a parent of what you want."
        ).with("member", "select")
        var pointers: [[String]] = []
        for element in list {
            guard case .string(let text) = element else { throw Self.noPointer(element) }
            guard text.utf8.count <= DaemonLimits.pointerBytes else { throw tooLong }
            clock.work += Work.pointer + Work.pointerByte * text.utf8.count
            guard let pointer = try? JSONPointer(text) else { throw Self.noPointer(element) }
            guard pointer.tokens.count <= depth else { throw tooLong }
            pointers.append(pointer.tokens)
        }
        return Selection(pointers)
    }

    private static func noPointer(_ element: JSON) -> RequestError {
        let shown =
            if case .string(let text) = element { "`\(text.shortened(to: 80))`" } else { element.phrase }
        return .invalid(
            "select", "`select` holds JSON Pointers such as \"/target\"; \(shown) is not one.")
    }

    /// The session that a `hello` wants, and how long that waits for its client; nil without a name.
    func session() throws(RequestError) -> (name: String, linger: Int)? {
        guard let name = try string(.session) else {
            guard !present.contains(.linger) else {
                throw .invalid(
                    "linger", "`linger` goes with `session`, the name by which the client takes it over.")
            }
            return nil
        }
        guard 1...BusLimits.sessionName ~= name.utf8.count else {
            throw .invalid(
                "session",
                "`session` is a text of 1 to \(BusLimits.sessionName) bytes that the client makes up.")
        }
        guard let value = value(.linger) else { return (name, 0) }
        guard let linger = DurationText.milliseconds(requested: value), linger <= BusLimits.longestLinger
        else {
            throw .invalid(
                "linger",
                "`linger` is seconds or a text such as \"10s\" of at most \(DurationText.longestText) bytes, at most a day."
            )
        }
        return (name, linger)
    }
}
