/// How many bytes the canonical encoding of a value takes, without writing it.
///
/// States are held to a limit in bytes; every write adds what it brings and subtracts what it replaces, so the
/// size of a state is known without looking at the whole of it.
extension JSON {
    public var encodedSize: Int {
        switch self {
        case .null: 4
        case .bool(let flag): flag ? 4 : 5
        case .int(let number): (number < 0 ? 1 : 0) + DecimalDigits.count(of: number.magnitude)
        case .double(let number): number.description.utf8.count
        case .string(let text): Self.encodedSize(of: text)
        case .array(let elements):
            elements.reduce(elements.isEmpty ? 2 : 1 + elements.count) { $0 + $1.encodedSize }
        case .object(let object): object.encodedSize
        }
    }

    /// The size of a string with its quotes and escapes.
    public static func encodedSize(of text: String) -> Int {
        text.utf8Span.span.withUnsafeBytes { bytes in
            var size = bytes.count + 2
            for byte in bytes where byte < 0x20 || byte == 0x22 || byte == 0x5c {
                switch byte {
                case 0x22, 0x5c, 0x08, 0x09, 0x0a, 0x0c, 0x0d: size += 1
                default: size += 5
                }
            }
            return size
        }
    }
}

extension JSONObject {
    public var encodedSize: Int {
        members.reduce(isEmpty ? 2 : 1 + 2 * count) {
            $0 + JSON.encodedSize(of: $1.key) + $1.value.encodedSize
        }
    }
}
