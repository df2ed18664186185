import BusJSON

/// The value of an operation as other operations take it: numbers, booleans and null go through registers, and no
/// reference is counted for them. What is larger lies in the evaluation until it is taken.
enum Scalar: BitwiseCopyable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    /// A text, an array or an object, which `Evaluation.take` gives.
    case held

    /// What this value means where a single number is wanted; nil for what is held.
    @inline(__always)
    var number: Number? {
        switch self {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .null: .int(0)
        case .bool(let flag): .int(flag ? 1 : 0)
        case .held: nil
        }
    }
}

extension Number {
    /// The result of an operation; what JSON can't hold is out of range.
    @inline(__always)
    func result(of operation: StaticString) throws(EvaluationFailure) -> Scalar {
        switch self {
        case .int(let number): return .int(number)
        case .double(let number):
            guard number.isFinite else { throw .overflow(operation: "\(operation)") }
            return .double(number)
        }
    }
}

extension Evaluation {
    /// A value as operations take it.
    @inline(__always)
    mutating func scalar(_ value: consuming JSON) -> Scalar {
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .double(let number): return .double(number)
        default:
            held = value
            return .held
        }
    }

    /// The value at a place of the data, as operations take it.
    @inline(__always)
    mutating func scalar(at place: UnsafePointer<JSON>) -> Scalar {
        switch place.pointee {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .double(let number): return .double(number)
        default:
            held = place.pointee
            return .held
        }
    }

    /// The whole value; what is held is taken, which can be done once.
    @inline(__always)
    mutating func take(_ scalar: Scalar) -> JSON {
        switch scalar {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .double(let number): return .double(number)
        case .held: return exchange(&held, with: .null)
        }
    }

    /// Whether a value counts as true; what is held stays so.
    @inline(__always)
    func isTruthy(_ scalar: Scalar) -> Bool {
        switch scalar {
        case .null: false
        case .bool(let flag): flag
        case .int(let number): number != 0
        case .double(let number): number != 0
        case .held: held.isTruthy
        }
    }

    /// Whether a value and the one at a place have the same canonical encoding; what is held stays so.
    @inline(__always)
    func isSame(_ scalar: Scalar, as place: UnsafePointer<JSON>) -> Bool {
        switch (scalar, place.pointee) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.held, _): held == place.pointee
        default: false
        }
    }

    /// What an operand means where a number is wanted; `meaning` says it of what is held, and by default takes a text
    /// that is a number as a whole.
    @inline(__always)
    mutating func number(
        _ scalar: Scalar, for operation: StaticString, _ meaning: (JSON) -> Number? = { $0.scalarNumber }
    ) throws(EvaluationFailure) -> Number {
        if let number = scalar.number { return number }
        return try heldNumber(for: operation, meaning)
    }

    @inline(never)
    private mutating func heldNumber(
        for operation: StaticString, _ meaning: (JSON) -> Number?
    ) throws(EvaluationFailure) -> Number {
        let value = take(.held)
        guard let number = try self.number(value, as: meaning) else {
            throw .notNumber(operation: "\(operation)", kind: value.kind)
        }
        return number
    }
}
