import BusJSON

/// Why an expression has no value. In an action it rejects the dispatch; a computed value becomes null.
package enum EvaluationFailure: Error, Equatable, Sendable {
    /// The budget of operations is used up.
    case operations
    /// The budget of produced bytes is used up.
    case bytes
    /// The commit's budget of bytes read is used up.
    case reading
    /// A value nests deeper than a state may.
    case tooDeep
    /// An arithmetic operator was given a value of this kind, which means no number.
    case notNumber(operation: String, kind: String)
    /// A comparison was given two kinds of which one is a number and the other means none, or which have no order.
    case notComparable(operation: String, String, String)
    /// Integer arithmetic left 64 bits, or a double is no longer finite.
    case overflow(operation: String)
    case divisionByZero(operation: String)
    /// An operator was given values that it does not take; the reason ends a sentence that begins with its name.
    case invalidArguments(operation: String, reason: String)
    /// An expression in text has no value; the reason is a clause.
    case failed(String)
    /// `throw` said so; the error as `try` hands it on.
    case thrown(JSONObject)
}

extension EvaluationFailure {
    /// The failure as `try` hands it on: an object with its `type`. Nil for what no expression can catch: a limit
    /// that is reached stays reached.
    var error: JSONObject? {
        switch self {
        case .operations, .bytes, .reading, .tooDeep: nil
        case .thrown(let error): error
        default: ["type": type.map { .string($0) } ?? .null]
        }
    }

    /// The `type` of the failure by which expressions tell it from others; nil for what they can't catch.
    package var type: String? {
        switch self {
        case .operations, .bytes, .reading, .tooDeep: nil
        case .notNumber, .notComparable, .divisionByZero: "NaN"
        case .overflow: "Overflow"
        case .invalidArguments: Self.invalidArguments
        case .failed: "Failed"
        case .thrown(let error):
            switch error["type"] {
            case .string(let text)?: text
            case let other: (other ?? .object(error)).encoded
            }
        }
    }

    /// The type of a failure that comes from what an operator was given.
    static let invalidArguments = "Invalid Arguments"
}

extension EvaluationFailure: CustomStringConvertible {
    /// The reason, as the end of a sentence, with the type in brackets where an expression can catch it.
    package var description: String {
        switch self {
        case .operations: "its expressions need more operations than the budget allows"
        case .bytes: "its expressions produce more bytes than the budget allows"
        case .reading: "its expressions read more of long texts than one commit may"
        case .tooDeep: "a value nests more than \(Evaluation.deepestValue) levels deep"
        case .notNumber(let operation, let kind): "\(operation) needs numbers and was given \(kind) (NaN)"
        case .notComparable(let operation, let left, let right):
            "\(operation) can't compare \(left) with \(right) (NaN)"
        case .overflow(let operation): "the result of \(operation) is out of range (Overflow)"
        case .divisionByZero(let operation): "\(operation) divides by zero (NaN)"
        case .invalidArguments(let operation, let reason):
            "\(operation) \(reason) (\(Self.invalidArguments))"
        case .failed(let reason): reason
        case .thrown: "it throws \(type ?? "")"
        }
    }
}
