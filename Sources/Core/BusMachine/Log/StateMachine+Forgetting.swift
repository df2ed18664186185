import BusLogic

/// A machine that begins before the horizon of a type does not know the type: it has none of the type's stores, and skips what
/// entries say of them, until it takes up a snapshot at the horizon or after it.
extension StateMachine {
    /// The types that are not known yet, each with the revision from which on it is known.
    package internal(set) var forgotten: [String: Int] {
        get { reading.forgotten }
        set { reading.forgotten = newValue }
    }

    /// Whether commits may be missing from the entries that it replays.
    package var mayHaveHoles: Bool { keepsLess || !forgotten.isEmpty }

    /// Whether a record of a snapshot belongs to a type that is not known yet.
    func isForgotten(_ record: TransferRecord) -> Bool {
        guard let thinning = reading.thinning else { return false }
        return ["store", "drop", "timer"].contains(record.kind) && thinning.concerns(record.members)
    }

    /// Takes over the content of another machine at the same revision that knows more types.
    package func recollect(_ other: StateMachine) {
        precondition(other.revision == revision, "A snapshot is taken up where it was taken.")
        become(other)
        reading.principals = KnownPrincipals()
        (forgotten, forgottenThrough) = (other.forgotten, other.forgottenThrough)
        time = other.time
    }
}
