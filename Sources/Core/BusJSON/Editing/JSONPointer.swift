/// A JSON Pointer (RFC 6901): the path to one place in a value.
///
/// Two pointers are equal when their tokens have the same UTF-8 bytes. A pointer says nothing of whether the
/// place exists, or whether a token will be a member's key or an index: that depends on the value.
public struct JSONPointer: Sendable {
    /// The path's steps, unescaped, from the root; none for the whole value.
    public let tokens: [String]

    public init(tokens: [String]) { self.tokens = tokens }

    /// Parses the text form: empty, or `/` before each token, with `~1` for `/` and `~0` for `~`.
    public init(_ text: String) throws(JSONPointerError) {
        let bytes = text.utf8
        guard let first = bytes.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { throw .missingSlash }
        var tokens: [String] = []
        for part in bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            tokens.append(try Self.unescape(part))
        }
        self.tokens = tokens
    }

    private static func unescape(_ part: Substring.UTF8View) throws(JSONPointerError) -> String {
        guard part.contains(UInt8(ascii: "~")) else { return String(Substring(part)) }
        var token: [UInt8] = []
        token.reserveCapacity(part.count)
        var index = part.startIndex
        while index < part.endIndex {
            let byte = part[index]
            part.formIndex(after: &index)
            guard byte == UInt8(ascii: "~") else {
                token.append(byte)
                continue
            }
            guard index < part.endIndex else { throw .invalidEscape }
            switch part[index] {
            case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
            default: throw .invalidEscape
            }
            part.formIndex(after: &index)
        }
        return String(decoding: token, as: UTF8.self)
    }

    /// The value this pointer points at; nil where there is none.
    public func resolve(in root: JSON) -> JSON? {
        var value = root
        for token in tokens {
            switch value {
            case .object(let object):
                guard let member = object[token] else { return nil }
                value = member
            case .array(let elements):
                guard let index = Self.index(token), index < elements.count else { return nil }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }

    /// The index a token stands for: decimal digits without leading zeros; nil for anything else.
    public static func index(_ token: String) -> Int? {
        let digits = token.utf8
        guard let first = digits.first, digits.allSatisfy({ $0 &- 48 < 10 }) else { return nil }
        guard first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        return Int(token)
    }
}

extension JSONPointer: Hashable {
    public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens, by: UTF8Order.equal)
    }

    public func hash(into hasher: inout Hasher) {
        for token in tokens {
            token.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
            // No byte of UTF-8 is 0xff, so this separates the tokens.
            hasher.combine(0xff as UInt8)
        }
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The text form, escaped; parsing it gives the same pointer.
    public var description: String {
        var text: [UInt8] = []
        for token in tokens {
            text.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): text += [UInt8(ascii: "~"), UInt8(ascii: "0")]
                case UInt8(ascii: "/"): text += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: text.append(byte)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Why a text is not a JSON Pointer.
public enum JSONPointerError: Error, Equatable, Sendable {
    case missingSlash
    case invalidEscape
}

extension JSONPointerError: CustomStringConvertible {
    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .missingSlash: "a JSON Pointer is empty or starts with /"
        case .invalidEscape:
            "in a JSON Pointer a ~ is written ~0 and a / within a key ~1; no other ~ may stand there"
        }
    }
}
