/// Why an expression has no value. In an action it rejects the dispatch; a computed value becomes null.
package enum EvaluationFailure: Error, Equatable, Sendable {
    /// The budget of operations is used up.
    case operations
    /// The budget of produced bytes is used up.
    case bytes
    /// A value nests deeper than a state may.
    case tooDeep
    /// An arithmetic operator was given a value of this kind, which means no number.
    case notNumber(operation: String, kind: String)
    /// Integer arithmetic left 64 bits, or a double is no longer finite.
    case overflow(operation: String)
    case divisionByZero(operation: String)
}

extension EvaluationFailure: CustomStringConvertible {
    /// The reason, as the end of a sentence.
    package var description: String {
        switch self {
        case .operations: "its expressions need more operations than the budget allows"
        case .bytes: "its expressions produce more bytes than the budget allows"
        case .tooDeep: "a value nests more than \(Evaluation.deepestValue) levels deep"
        case .notNumber(let operation, let kind): "\(operation) needs numbers and was given \(kind)"
        case .overflow(let operation): "the result of \(operation) is out of range"
        case .divisionByZero(let operation): "\(operation) divides by zero"
        }
    }
}
