internal import BusProtocol

/// Whether a request is sent again after its connection ended before its answer came.
package enum Repetition: Sendable, Equatable {
    /// It is sent again with the key it had, so that it commits exactly once.
    case keyed
    /// It is sent again: it only reads, or doing it twice is the same as once.
    case free
    /// It fails with `outcome_unknown` if it had been written.
    case never

    /// The rule for a request by its `op`. One that brings its own key is repeated with that.
    init(_ request: BusRequest, usesKeys: Bool) {
        let usesKey = usesKeys || request["key"] != nil
        switch request.op {
        case "will", "compact": self = .free
        case "dispatch": self = request["dryRun"] == true ? .free : usesKey ? .keyed : .never
        // An ephemeral store is dropped with its session, so on another one creating it again is right.
        case "create": self = usesKey ? .keyed : request["ephemeral"] == true ? .free : .never
        // The daemon that comes back may be a member again.
        case "cluster": self = request["leave"] == true ? .never : .free
        case "drop", "cancel": self = usesKey ? .keyed : .never
        default:
            let operation = Operation.Local(rawValue: request.op).map(Operation.local)
            self = operation?.isRead == true ? .free : .never
        }
    }
}
