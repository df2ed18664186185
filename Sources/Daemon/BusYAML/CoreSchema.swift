import BusJSON

/// What a plain scalar means by the core schema of YAML 1.2: `on` and `yes` are strings, `0o17` is a number.
enum CoreSchema {
    struct Refusal: Error {
        let message: String
    }

    static func resolve(_ text: String) throws(Refusal) -> JSON {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN",
            ".NAN":
            throw Refusal(
                message: "JSON has no \(text); write another number, or a string in quotes: \"\(text)\".")
        default: break
        }
        let bytes = Array(text.utf8)
        if bytes.starts(with: Array("0o".utf8)), let number = try integer(text, radix: 8, digits: 48...55) {
            return .int(number)
        }
        if bytes.starts(with: Array("0x".utf8)), let number = try hexadecimal(text) { return .int(number) }
        let unsigned =
            bytes.first == UInt8(ascii: "-") || bytes.first == UInt8(ascii: "+") ? bytes[1...] : bytes[...]
        if !unsigned.isEmpty && unsigned.allSatisfy({ 48...57 ~= $0 }) {
            guard let number = Int(text) else { throw outOfRange(text) }
            return .int(number)
        }
        return try isFloat(unsigned) ? double(text) : .string(text)
    }

    private static func integer(
        _ text: String, radix: Int, digits: ClosedRange<UInt8>
    ) throws(Refusal) -> Int? {
        let body = text.utf8.dropFirst(2)
        guard !body.isEmpty, body.allSatisfy({ digits.contains($0) }) else { return nil }
        guard let number = Int(text.dropFirst(2), radix: radix) else { throw outOfRange(text) }
        return number
    }

    private static func hexadecimal(_ text: String) throws(Refusal) -> Int? {
        let isDigit = { (byte: UInt8) in
            48...57 ~= byte || 65...70 ~= byte || 97...102 ~= byte
        }
        guard text.utf8.dropFirst(2).allSatisfy(isDigit) else { return nil }
        return try integer(text, radix: 16, digits: 48...102)
    }

    /// `.5`, `5.`, `5.5`, `5e3`: digits with at most one point, at least one digit, and perhaps an exponent.
    private static func isFloat(_ unsigned: ArraySlice<UInt8>) -> Bool {
        var rest = unsigned
        let whole = rest.prefix { 48...57 ~= $0 }
        rest = rest.dropFirst(whole.count)
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = rest.prefix { 48...57 ~= $0 }.count
            rest = rest.dropFirst(fraction)
        }
        guard !whole.isEmpty || fraction > 0 else { return false }
        if rest.isEmpty { return true }
        guard rest.first! | 0x20 == UInt8(ascii: "e") else { return false }
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        return !rest.isEmpty && rest.allSatisfy { 48...57 ~= $0 }
    }

    private static func double(_ text: String) throws(Refusal) -> JSON {
        guard let value = Double(text), value.isFinite else {
            throw Refusal(message: "\(text) is too large for a double; write it in quotes if it is a text.")
        }
        return .double(value)
    }

    private static func outOfRange(_ text: String) -> Refusal {
        Refusal(message: "\(text) is outside 64 bits; write it in quotes, or with a fraction.")
    }
}
