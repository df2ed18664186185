import BusLogic

/// A machine that begins before the horizon of a type does not know the type: it has none of its stores, and skips what entries say of
/// them, until it takes up a snapshot at or behind the horizon.
extension StateMachine {
    /// From which revision on types are known that are not known yet.
    package internal(set) var forgotten: [String: Int] {
        get { reading.forgotten }
        set { reading.forgotten = newValue }
    }

    /// Whether entries that it replays may leave out commits.
    package var mayHaveHoles: Bool { keepsLess || !forgotten.isEmpty }

    /// Whether a record of a snapshot is of a type that is not known.
    func isForgotten(_ record: TransferRecord) -> Bool {
        guard let thinning = reading.thinning else { return false }
        return ["store", "drop", "timer"].contains(record.kind) && thinning.concerns(record.members)
    }

    /// Takes up what the bus was at this machine's revision, by another machine that knows more types.
    package func recollect(_ other: StateMachine) {
        precondition(other.revision == revision, "A snapshot is taken up where it was taken.")
        become(other)
        reading.principals = KnownPrincipals()
        (forgotten, forgottenThrough) = (other.forgotten, other.forgottenThrough)
        time = other.time
    }
}
