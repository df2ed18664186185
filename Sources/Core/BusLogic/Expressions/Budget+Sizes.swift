extension Budget {
    /// For what was checked before, or is the operator's own.
    package static let unlimited = Budget(operations: .max, bytes: .max)

    /// What one store may spend in one action unless somebody says otherwise: a few milliseconds of work,
    /// and as much output as four of the largest states.
    package static let ofStore = Budget(operations: 100_000, bytes: 4 << 20)

    /// What one computed value may spend, always: it must be the same for the same state on every bus.
    package static let ofComputed = Budget(operations: 100_000, bytes: 4 << 20)

    /// As much as both allow.
    static func smaller(_ one: Budget, _ other: Budget) -> Budget {
        Budget(
            operations: min(one.operations, other.operations), bytes: min(one.bytes, other.bytes),
            reading: min(one.reading, other.reading), hasPrices: one.hasPrices && other.hasPrices)
    }

    /// Lets something spend as much of it as one store may.
    package mutating func spendAsOneStore<Value, Failure: Error>(
        _ body: (inout Budget) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let allowance = Budget.smaller(.ofStore, self)
        var left = allowance
        defer {
            operations -= allowance.operations - left.operations
            bytes -= allowance.bytes - left.bytes
            reading -= allowance.reading - left.reading
        }
        return try body(&left)
    }
}

extension Evaluation {
    /// What is left of `available` after this evaluation, which was given `allowance` of it.
    @inline(__always)
    func rest(of available: Budget, after allowance: Budget) -> Budget {
        Budget(
            operations: available.operations - allowance.operations + max(operations, 0),
            bytes: available.bytes - allowance.bytes + max(bytes, 0),
            reading: available.reading - allowance.reading + max(reading, 0), hasPrices: available.hasPrices)
    }
}
