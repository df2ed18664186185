extension JSONReader {
    /// Reads one string and decodes it.
    public mutating func string() throws(JSONError) -> String {
        try expect(UInt8(ascii: "\""))
        if let short = shortString() { return short }
        let content = try stringContent()
        return content.plain ? Self.text(ascii: content.bytes) : try decode(content)
    }

    /// Takes a string of at most 15 plain bytes whose opening quote has been taken; nil if it is another kind,
    /// or stands so near the end that 16 bytes cannot be looked at.
    @inline(__always)
    private mutating func shortString() -> String? {
        guard SmallText.isKnown, end - cursor > SmallText.longest else { return nil }
        let bytes = UnsafeRawPointer(cursor)
        let low = bytes.loadUnaligned(as: UInt64.self)
        var marks = ByteScan.specials(low) | low & ByteScan.highBits
        if marks != 0 {
            let count = ByteScan.firstMarked(marks)
            guard cursor[count] == UInt8(ascii: "\"") else { return nil }
            cursor += count + 1
            return SmallText(ascii: ByteScan.keep(low, count), 0, count: count).string
        }
        let high = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        marks = ByteScan.specials(high) | high & ByteScan.highBits
        guard marks != 0 else { return nil }
        let count = ByteScan.firstMarked(marks)
        guard cursor[8 + count] == UInt8(ascii: "\"") else { return nil }
        cursor += count + 9
        return SmallText(ascii: low, ByteScan.keep(high, count), count: 8 + count).string
    }

    /// Makes a string of bytes that are known to be ASCII.
    static func text(ascii bytes: UnsafeRawBufferPointer) -> String {
        if bytes.count <= SmallText.longest, SmallText.isKnown { return SmallText(ascii: bytes).string }
        let units = bytes.bindMemory(to: UInt8.self)
        return String(copying: UTF8Span(unchecked: units.span, isKnownASCII: true))
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
        return try stringContent()
    }

    /// Takes the rest of a string whose opening quote has been taken.
    private mutating func stringContent() throws(JSONError) -> StringContent {
        let first = cursor
        var place = cursor
        var high: UInt64 = 0
        var escaped = false
        while true {
            // Eight bytes at a time up to something that is not plain.
            while end - place >= 8 {
                let word = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self)
                let marks = ByteScan.specials(word)
                if marks != 0 {
                    let count = ByteScan.firstMarked(marks)
                    high |= ByteScan.keep(word, count)
                    place += count
                    break
                }
                high |= word
                place += 8
            }
            guard place < end else { break }
            let byte = place.pointee
            if byte == UInt8(ascii: "\"") {
                cursor = place + 1
                let bytes = UnsafeRawBufferPointer(start: first, count: place - first)
                return StringContent(
                    bytes: bytes, plain: !escaped && high & ByteScan.highBits == 0, escaped: escaped)
            }
            if byte == UInt8(ascii: "\\") {
                escaped = true
                place += 2
                guard place <= end else { break }
            } else if byte < 0x20 {
                throw JSONError(.controlCharacter, at: place - start)
            } else {
                high |= UInt64(byte)
                place += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: end - start)
    }

    /// Decodes what `scanString` gave: escapes undone, UTF-8 checked.
    public func decode(_ content: StringContent) throws(JSONError) -> String {
        let place = content.bytes.baseAddress.map { $0 - UnsafeRawPointer(start) } ?? offset
        guard content.escaped else { return try text(utf8: content.bytes, at: place) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(content.bytes.count)
        var index = 0
        while index < content.bytes.count {
            if content.bytes[index] == UInt8(ascii: "\\") {
                index = try unescape(content.bytes, at: index, into: &decoded, place: place)
            } else {
                let rest = UnsafeRawBufferPointer(rebasing: content.bytes[index...])
                let plain = ByteScan.plainCount(rest)
                decoded.append(contentsOf: rest[..<plain])
                index += plain
            }
        }
        let result: Result<String, JSONError> = decoded.withUnsafeBytes { bytes in
            do throws(JSONError) { return .success(try text(utf8: bytes, at: place)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func text(utf8 bytes: UnsafeRawBufferPointer, at place: Int) throws(JSONError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span))
        } catch {
            throw JSONError(.invalidUTF8, at: place)
        }
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
