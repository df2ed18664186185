/// How many bytes the canonical encoding of a value takes, without writing it.
///
/// States are held to a limit in bytes; every write adds what it brings and subtracts what it replaces, so the
/// size of a state is known without looking at the whole of it.
extension JSON {
    public var encodedSize: Int {
        switch self {
        case .null: 4
        case .bool(let flag): flag ? 4 : 5
        case .int(let number): Self.encodedSize(of: number)
        case .double(let number): ShortDecimal(number)?.encodedSize ?? number.description.utf8.count
        case .string(let text): Self.encodedSize(of: text)
        case .array(let elements): Self.encodedSize(of: elements)
        case .object(let object): object.encodedSize
        }
    }

    @inlinable @inline(__always)
    public static func encodedSize(of number: Int) -> Int {
        (number < 0 ? 1 : 0) &+ DecimalDigits.count(of: number.magnitude)
    }

    private static func encodedSize(of elements: [JSON]) -> Int {
        elements.withUnsafeBufferPointer { elements in
            var size = elements.isEmpty ? 2 : 1 + elements.count
            for index in elements.indices { size += elements[index].encodedSize }
            return size
        }
    }

    /// The size of a string with its quotes and escapes.
    public static func encodedSize(of text: String) -> Int {
        if let small = SmallText(text), small.isPlain { return small.count + 2 }
        return text.withBytes { bytes in
            var size = bytes.count + 2
            var plain = ByteScan.plainCount(bytes)
            while plain < bytes.count {
                switch bytes[plain] {
                case 0x22, 0x5c, 0x08, 0x09, 0x0a, 0x0c, 0x0d: size += 1
                default: size += 5
                }
                plain += 1
                plain += ByteScan.plainCount(UnsafeRawBufferPointer(rebasing: bytes[plain...]))
            }
            return size
        }
    }
}

extension JSONObject {
    public var encodedSize: Int {
        members.withUnsafeBufferPointer { members in
            var size = members.isEmpty ? 2 : 1 + 2 * members.count
            for index in members.indices {
                size += JSON.encodedSize(of: members[index].key) + members[index].value.encodedSize
            }
            return size
        }
    }
}
