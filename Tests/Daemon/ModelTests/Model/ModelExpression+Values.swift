import BusJSON

/// Operators whose operands are all evaluated: numbers and texts.
extension ModelExpression {
    /// What a value counts as, where a number is wanted.
    static func number(_ value: JSON) throws -> JSON {
        switch value {
        case .int, .double: return value
        case .null: return 0
        case .bool(let flag): return flag ? 1 : 0
        case .string(let given):
            let text = String(given.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
            if text.isEmpty { return 0 }
            if let whole = Int(text) { return .int(whole) }
            guard let number = Double(text) else { throw ModelError.notANumber }
            return .double(number)
        default: throw ModelError.notANumber
        }
    }

    private static func isSpace(_ letter: Character) -> Bool { letter.isASCII && letter.isWhitespace }

    /// The number with which a text begins, for sums and products.
    private static func leadingNumber(_ value: JSON) throws -> JSON {
        guard let text = value.string?.drop(while: isSpace),
            let match = text.prefixMatch(of: /[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/)
        else { return try number(value) }
        return try number(.string(String(match.0)))
    }

    /// A number, for which an array stands that has no other element; an empty one is 0.
    private static func onlyNumber(_ value: JSON) throws -> JSON {
        guard let elements = value.array else { return try number(value) }
        if elements.count > 1 || elements.first?.bool != nil { throw ModelError.notANumber }
        return try onlyNumber(elements.first ?? 0)
    }

    private static func finite(_ number: Double) throws -> JSON {
        if !number.isFinite { throw ModelError.overflow }
        return .double(number)
    }

    private static func exact(_ result: (partialValue: Int, overflow: Bool)) throws -> JSON {
        if result.overflow { throw ModelError.overflow }
        return .int(result.partialValue)
    }

    /// One step of arithmetic.
    private static func combine(_ name: String, _ left: JSON, _ right: JSON) throws -> JSON {
        if case .int(let a) = left, case .int(let b) = right {
            switch name {
            case "+": return try exact(a.addingReportingOverflow(b))
            case "-": return try exact(a.subtractingReportingOverflow(b))
            case "*": return try exact(a.multipliedReportingOverflow(by: b))
            case "max": return .int(max(a, b))
            case "min": return .int(min(a, b))
            case "%":
                if b == 0 { throw ModelError.notANumber }
                return b == -1 ? 0 : .int(a % b)
            default:
                if b == 0 { throw ModelError.notANumber }
                if b == -1 { return try exact((0).subtractingReportingOverflow(a)) }
                return a % b == 0 ? .int(a / b) : .double(Double(a) / Double(b))
            }
        }
        let (a, b) = (left.double!, right.double!)
        switch name {
        case "+": return try finite(a + b)
        case "-": return try finite(a - b)
        case "*": return try finite(a * b)
        case "max": return a >= b ? left : right
        case "min": return a <= b ? left : right
        default:
            if b == 0 { throw ModelError.notANumber }
            return try finite(name == "%" ? a.truncatingRemainder(dividingBy: b) : a / b)
        }
    }

    /// Operators whose operands are all evaluated.
    static func apply(_ name: String, to operands: [JSON]) throws -> JSON {
        switch name {
        case "!": return .bool(!isTrue(operands[0]))
        case "!!": return .bool(isTrue(operands[0]))
        case "+", "-", "*", "/", "%", "max", "min":
            let numbers = try operands.map { operand in
                if ["+", "*"].contains(name) { return try leadingNumber(operand) }
                let isOfSeveral = ["max", "min"].contains(name) && operands.count > 1
                return try isOfSeveral ? onlyNumber(operand) : number(operand)
            }
            guard let first = numbers.first else {
                if name == "+" { return 0 }
                if name == "*" { return 1 }
                throw ModelError.arguments
            }
            if numbers.count == 1 {
                if name == "-" { return try negative(first) }
                if name == "/" { return try combine("/", 1, first) }
                return first
            }
            // A sum begins at the integer 0, so that of negative zeros is 0.0.
            if name == "+" { return try numbers.reduce(0) { try combine(name, $0, $1) } }
            return try numbers.dropFirst().reduce(first) { try combine(name, $0, $1) }
        case "abs":
            let value = try number(operands[0])
            return value.double! < 0 ? try negative(value) : value
        case "merge": return .array(operands.flatMap { $0.array ?? [$0] })
        case "in":
            if let elements = operands[1].array {
                return .bool(elements.contains { areAlike($0, operands[0]) })
            }
            guard let text = operands[1].string else { return false }
            return .bool(contains(Array(text.utf8), Array(try cut(operands[0]).utf8)))
        case "length":
            switch operands[0] {
            case .null: return 0
            case .array(let elements): return .int(elements.count)
            case .object(let members): return .int(members.count)
            case .string(let text): return .int(text.unicodeScalars.count)
            default: throw ModelError.arguments
            }
        case "keys", "values":
            if operands[0].isNull { return [] }
            guard let members = operands[0].object else { throw ModelError.arguments }
            return .array(members.map { name == "keys" ? .string($0.key) : $0.value })
        case "cat": return .string(try operands.map { try text($0) }.joined())
        case "join":
            guard operands[0].isNull || operands[0].array != nil else { throw ModelError.arguments }
            return .string(
                try (operands[0].array ?? []).map { try text($0) }.joined(separator: text(operands[1])))
        case "substr":
            return .string(
                substring(
                    try cut(operands[0]),
                    operands.dropFirst().compactMap(\.int)))
        default: throw ModelError(ignoring: name)
        }
    }

    private static func negative(_ value: JSON) throws -> JSON {
        if case .int(let whole) = value { return try exact((0).subtractingReportingOverflow(whole)) }
        return .double(-value.double!)
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        part.isEmpty ? !text.isEmpty : text.indices.contains { text[$0...].starts(with: part) }
    }

    private static func text(_ value: JSON) throws -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .double(let number): return text(of: number)
        case .array(let elements): return try elements.map { try text($0) }.joined(separator: ",")
        case .object: return "[object Object]"
        default: return value.encoded
        }
    }

    /// As JavaScript prints it: without an exponent from a millionth up to 21 digits.
    private static func text(of number: Double) -> String {
        if number == 0 { return "0" }
        let parts = "\(abs(number))".split(separator: "e")
        let halves = parts[0].split(separator: ".")
        let zeros = { (count: Int) in String(repeating: "0", count: count) }
        var digits = halves.joined()
        var point = halves[0].count + (parts.count > 1 ? Int(parts[1])! : 0)
        while digits.hasSuffix("0") { digits.removeLast() }
        while digits.hasPrefix("0") {
            digits.removeFirst()
            point -= 1
        }
        let sign = number < 0 ? "-" : ""
        switch point {
        case digits.count...21: return sign + digits + zeros(point - digits.count)
        case 1...21: return sign + digits.prefix(point) + "." + digits.dropFirst(point)
        case -5...0: return sign + "0." + zeros(-point) + digits
        default:
            let rest = digits.count > 1 ? "." + digits.dropFirst() : ""
            return sign + digits.prefix(1) + rest + "e" + (point > 0 ? "+" : "-") + "\(abs(point - 1))"
        }
    }

    /// The text that a value counts as where a part of it is wanted.
    private static func cut(_ value: JSON) throws -> String { value.isNull ? "null" : try text(value) }

    private static func substring(_ text: String, _ numbers: [Int]) -> String {
        let scalars = Array(text.unicodeScalars)
        let start = numbers[0] < 0 ? max(0, scalars.count + numbers[0]) : min(numbers[0], scalars.count)
        var end = scalars.count
        if numbers.count > 1 {
            end = numbers[1] < 0 ? scalars.count + numbers[1] : min(scalars.count, start + numbers[1])
        }
        return String(String.UnicodeScalarView(scalars[start..<max(start, end)]))
    }
}
