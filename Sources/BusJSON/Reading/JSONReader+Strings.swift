extension JSONReader {
    /// Reads one string and decodes it.
    public mutating func string() throws(JSONError) -> String {
        let content = try scanString()
        if content.plain {
            return String(decoding: content.bytes, as: UTF8.self)
        }
        return try decode(content)
    }

    /// The bytes between a string's quotes. `plain`: ASCII without escapes, so they are the string itself.
    public struct StringContent {
        public let bytes: UnsafeRawBufferPointer
        public let plain: Bool
        let escaped: Bool
    }

    /// Takes one string and gives its undecoded content; control characters and a missing quote are refused.
    public mutating func scanString() throws(JSONError) -> StringContent {
        try expect(UInt8(ascii: "\""))
        let first = cursor
        var escaped = false
        var high: UInt8 = 0
        while cursor < end {
            let byte = cursor.pointee
            if byte == UInt8(ascii: "\"") {
                let bytes = UnsafeRawBufferPointer(start: first, count: cursor - first)
                cursor += 1
                return StringContent(bytes: bytes, plain: !escaped && high < 0x80, escaped: escaped)
            }
            if byte == UInt8(ascii: "\\") {
                escaped = true
                cursor += 1
                guard cursor < end else { throw failure(.unexpectedEnd) }
            } else if byte < 0x20 {
                throw failure(.controlCharacter)
            }
            high |= byte
            cursor += 1
        }
        throw failure(.unexpectedEnd)
    }

    /// Decodes what `scanString` gave: escapes undone, UTF-8 checked.
    public func decode(_ content: StringContent) throws(JSONError) -> String {
        let place = content.bytes.baseAddress.map { $0 - UnsafeRawPointer(start) } ?? offset
        guard content.escaped else {
            guard let text = String(validating: content.bytes, as: UTF8.self) else {
                throw JSONError(.invalidUTF8, at: place)
            }
            return text
        }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(content.bytes.count)
        var index = 0
        while index < content.bytes.count {
            let byte = content.bytes[index]
            if byte != UInt8(ascii: "\\") {
                decoded.append(byte)
                index += 1
            } else {
                index = try unescape(content.bytes, at: index, into: &decoded, place: place)
            }
        }
        guard let text = String(validating: decoded, as: UTF8.self) else {
            throw JSONError(.invalidUTF8, at: place)
        }
        return text
    }

    /// Undoes the escape at `index` and gives the index behind it.
    private func unescape(
        _ bytes: UnsafeRawBufferPointer, at index: Int, into decoded: inout [UInt8], place: Int
    ) throws(JSONError) -> Int {
        let bad = JSONError(.invalidEscape, at: place + index)
        guard index + 1 < bytes.count else { throw bad }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""): decoded.append(0x22)
        case UInt8(ascii: "\\"): decoded.append(0x5c)
        case UInt8(ascii: "/"): decoded.append(0x2f)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0c)
        case UInt8(ascii: "n"): decoded.append(0x0a)
        case UInt8(ascii: "r"): decoded.append(0x0d)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            guard let unit = hexUnit(bytes, at: index + 2) else { throw bad }
            var next = index + 6
            var scalar = UInt32(unit)
            if 0xd800...0xdfff ~= unit {
                guard unit < 0xdc00, next + 1 < bytes.count, bytes[next] == UInt8(ascii: "\\"),
                    bytes[next + 1] == UInt8(ascii: "u"), let low = hexUnit(bytes, at: next + 2),
                    0xdc00...0xdfff ~= low
                else { throw JSONError(.loneSurrogate, at: place + index) }
                scalar = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00)
                next += 6
            }
            guard let value = Unicode.Scalar(scalar) else { throw bad }
            decoded.append(contentsOf: UTF8.encode(value)!)
            return next
        default:
            throw bad
        }
        return index + 2
    }

    private func hexUnit(_ bytes: UnsafeRawBufferPointer, at index: Int) -> UInt16? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt16 = 0
        for place in index..<index + 4 {
            let digit: UInt8
            switch bytes[place] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[place] - 48
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[place] - 87
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[place] - 55
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
