/// Why bytes are not a JSON value that the bus takes.
public struct JSONError: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        case unexpectedEnd
        case unexpectedByte
        case trailingBytes
        case invalidLiteral
        case invalidNumber
        case integerOutOfRange
        case numberOutOfRange
        case invalidEscape
        case loneSurrogate
        case controlCharacter
        case invalidUTF8
        case duplicateKey
        case tooDeep
    }

    public let reason: Reason
    /// Where in the bytes, counted from 0.
    public let offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// One sentence that says what is wrong and where.
    public var description: String {
        let what =
            switch reason {
            case .unexpectedEnd: "the text ends in the middle of a value"
            case .unexpectedByte: "unexpected character"
            case .trailingBytes: "something follows the value"
            case .invalidLiteral: "only true, false and null are words of JSON"
            case .invalidNumber: "a number is malformed"
            case .integerOutOfRange: "an integer is outside 64 bits; write it as a string or with a fraction"
            case .numberOutOfRange: "a number is too large for a double"
            case .invalidEscape: "an escape is malformed"
            case .loneSurrogate: "a \\u surrogate stands without its other half"
            case .controlCharacter: "a control character in a string must be escaped"
            case .invalidUTF8: "a string is not UTF-8"
            case .duplicateKey: "an object has the same key twice"
            case .tooDeep: "values are nested too deeply"
            }
        return "\(what) (byte \(offset))"
    }
}
