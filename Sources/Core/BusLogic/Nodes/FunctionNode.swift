import BusJSON

/// The kinds of values, as functions take them.
struct ValueKinds: OptionSet {
    let rawValue: Int

    static let null = ValueKinds(rawValue: 1)
    static let bool = ValueKinds(rawValue: 2)
    static let int = ValueKinds(rawValue: 4)
    static let double = ValueKinds(rawValue: 8)
    static let text = ValueKinds(rawValue: 16)
    static let list = ValueKinds(rawValue: 32)
    static let map = ValueKinds(rawValue: 64)

    static let number: ValueKinds = [.int, .double]
    static let any: ValueKinds = [.null, .bool, .number, .text, .list, .map]

    /// "a text or a list".
    var phrase: String {
        if self == .any { return "any value" }
        var names: [String] = []
        if contains(.null) { names.append("null") }
        if contains(.bool) { names.append("a boolean") }
        if contains(.number) { names.append("a number") }
        if contains(.int), !contains(.double) { names.append("an integer") }
        if contains(.double), !contains(.int) { names.append("a number with a fraction") }
        if contains(.text) { names.append("a text") }
        if contains(.list) { names.append("a list") }
        if contains(.map) { names.append("a map") }
        guard let last = names.last, names.count > 1 else { return names.first ?? "nothing" }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension JSON {
    /// The one kind that it is of.
    var kinds: ValueKinds {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .double: .double
        case .string: .text
        case .array: .list
        case .object: .map
        }
    }
}

/// What a function is given; what it was not given is null.
struct Arguments {
    var first = JSON.null
    var second = JSON.null
    var third = JSON.null
    var rest: [JSON] = []
    var count = 0

    mutating func append(_ value: JSON) {
        switch count {
        case 0: first = value
        case 1: second = value
        case 2: third = value
        default: rest.append(value)
        }
        count += 1
    }

    var all: [JSON] { Array([first, second, third].prefix(count)) + rest }
}

/// A call of a function whose arguments are values.
final class FunctionNode: ExpressionNode, @unchecked Sendable {
    let function: TextFunction
    let arguments: [ExpressionNode]

    /// Takes as many arguments as the function does.
    init(_ function: TextFunction, _ arguments: [ExpressionNode]) {
        self.function = function
        self.arguments = arguments
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var given = Arguments()
        for (index, argument) in arguments.enumerated() {
            let value = try argument.value(&evaluation)
            let wanted = function.kinds(at: index)
            guard wanted.contains(value.kinds) else {
                throw .failed("\(function.name) needs \(wanted.phrase) and was given \(value.kind)")
            }
            given.append(value)
        }
        return try function.body(&evaluation, given)
    }
}
