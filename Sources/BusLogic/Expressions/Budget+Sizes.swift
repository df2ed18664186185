extension Budget {
    /// What one store may spend in one action unless somebody says otherwise: a few milliseconds of work,
    /// and as much output as four of the largest states.
    package static let ofStore = Budget(operations: 100_000, bytes: 4 << 20)

    /// What one computed value may spend, always: it must be the same for the same state on every bus.
    package static let ofComputed = Budget(operations: 100_000, bytes: 4 << 20)

    /// As much as both allow.
    static func smaller(_ one: Budget, _ other: Budget) -> Budget {
        Budget(operations: min(one.operations, other.operations), bytes: min(one.bytes, other.bytes))
    }
}

extension CommitContext {
    /// Takes from the commit's budget what an evaluation that had `allowance` has spent of it.
    func charge(_ allowance: Budget, left evaluation: borrowing Evaluation) {
        budget.operations -= allowance.operations - max(evaluation.operations, 0)
        budget.bytes -= allowance.bytes - max(evaluation.bytes, 0)
    }
}
