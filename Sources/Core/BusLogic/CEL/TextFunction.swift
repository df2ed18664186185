import BusJSON
import BusProtocol

/// A function of expressions in text: what it takes, what it gives, what it does.
struct TextFunction: Sendable {
    typealias Body =
        @Sendable (inout Evaluation, Arguments) throws(EvaluationFailure) -> JSON

    /// Whether it stands behind a value and a point, which is its first argument then.
    enum Style {
        case method, global, both
    }

    /// What is known of the value that it gives.
    enum Result {
        case kinds(ValueKinds)
        /// A value of the kind of the first argument.
        case same
    }

    let name: String
    let style: Style
    /// The kinds of its arguments, the value before the point included; the last again for those beyond.
    let parameters: [ValueKinds]
    let counts: ClosedRange<Int>
    let result: Result
    let body: Body

    init(
        _ name: String, _ style: Style, _ parameters: [ValueKinds], optional: Int = 0,
        isVariadic: Bool = false,
        _ result: Result, _ body: @escaping Body
    ) {
        self.name = name
        self.style = style
        self.parameters = parameters
        counts = (parameters.count - optional)...(isVariadic ? .max : parameters.count)
        self.result = result
        self.body = body
    }

    func kinds(at index: Int) -> ValueKinds { parameters[min(index, parameters.count - 1)] }

    /// How it is called: "a.charAt(b)".
    var usage: String {
        let names = ["a", "b", "c", "d"].prefix(max(parameters.count, counts.lowerBound))
        if style == .method {
            return "\(names.first ?? "a").\(name)(\(names.dropFirst().joined(separator: ", ")))"
        }
        return "\(name)(\(names.joined(separator: ", ")))"
    }

    static let all: [TextFunction] = general + texts + numbers + collections

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// What is written before the names of some functions, and is no value.
    static let namespaces: Set<String> = ["math", "strings", "lists", "optional", "cel"]
}

/// Functions on values of several kinds, and conversions.
extension TextFunction {
    fileprivate static let general: [TextFunction] = [
        .init("size", .both, [[.text, .list, .map]], .kinds(.int), size),
        .init("string", .global, [[.bool, .number, .text]], .kinds(.text), string),
        .init("int", .global, [[.number, .text]], .kinds(.int), int),
        .init("double", .global, [[.number, .text]], .kinds(.double), double),
        .init("bool", .global, [[.bool, .text]], .kinds(.bool), bool),
        .init("dyn", .global, [.any], .kinds(.any), dyn),
        .init("reverse", .method, [[.text, .list]], .same, reverse),
    ]

    private static func size(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        switch given.first {
        case .array(let elements): return .int(elements.count)
        case .object(let object): return .int(object.count)
        default:
            let text = given.first.string ?? ""
            try evaluation.spend(text.utf8.count >> 4)
            return .int(text.unicodeScalars.count)
        }
    }

    private static func string(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        if case .string = given.first { return given.first }
        var text = ""
        try evaluation.append(number: given.first, to: &text)
        return .string(text)
    }

    private static func int(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        switch given.first {
        case .double(let number):
            // The smallest integer is out of range, too, as in other implementations.
            guard abs(number) < 0x1p63 else { throw .overflow(operation: "int") }
            return .int(Int(number))
        case .string(let text):
            try evaluation.read(text.utf8.count)
            guard let number = Int(text) else {
                throw .failed("int can't read a number in \(given.first.encoded.shortened(to: 100))")
            }
            return .int(number)
        default: return given.first
        }
    }

    private static func double(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        guard case .string(let text) = given.first else { return .double(given.first.double ?? 0) }
        try evaluation.read(text.utf8.count)
        switch text {
        case "NaN": return .double(.nan)
        case "Infinity", "+Infinity": return .double(.infinity)
        case "-Infinity": return .double(-.infinity)
        default: break
        }
        let isDecimal = text.utf8.allSatisfy {
            48...57 ~= $0
                || [
                    UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
                    UInt8(ascii: "E"),
                ].contains($0)
        }
        guard isDecimal, let number = Double(text) else {
            throw .failed("double can't read a number in \(given.first.encoded.shortened(to: 100))")
        }
        return .double(number)
    }

    private static func bool(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        guard case .string(let text) = given.first else { return given.first }
        switch text {
        case "1", "t", "T", "true", "True", "TRUE": return true
        case "0", "f", "F", "false", "False", "FALSE": return false
        default:
            throw .failed("bool can't read true or false in \(given.first.encoded.shortened(to: 100))")
        }
    }

    private static func dyn(_ evaluation: inout Evaluation, _ given: Arguments) -> JSON { given.first }

    private static func reverse(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        guard case .string(let text) = given.first else {
            let elements = given.first.array ?? []
            try evaluation.spend(elements.count)
            try evaluation.produce(16 * elements.count)
            return .array(elements.reversed())
        }
        try evaluation.spend(text.utf8.count >> 4)
        try evaluation.produce(text.utf8.count)
        var reversed = ""
        reversed.unicodeScalars.append(contentsOf: text.unicodeScalars.reversed())
        return .string(reversed)
    }
}

extension Evaluation {
    /// Appends a number or a boolean as texts show it; one that is no number by its name.
    mutating func append(number value: JSON, to text: inout String) throws(EvaluationFailure) {
        if case .double(let number) = value, !number.isFinite {
            text += number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"
        } else {
            try append(value, to: &text)
        }
    }
}
