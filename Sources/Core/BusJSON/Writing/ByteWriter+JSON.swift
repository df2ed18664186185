/// The canonical encoding: members sorted (as objects hold them), no white space, minimal escapes, integers
/// as digits, other numbers shortest round-trip with a `.` or an `e`.
extension ByteWriter {
    /// Writes a whole value.
    public func append(json value: JSON) {
        switch value {
        case .null: append("null")
        case .bool(let flag): if flag { append("true") } else { append("false") }
        case .int(let number): append(decimal: number)
        case .double(let number): append(double: number)
        case .string(let text): append(quoted: text)
        case .array(let elements): append(jsonArray: elements)
        case .object(let object): append(jsonObject: object)
        }
    }

    public func append(jsonArray elements: [JSON]) {
        append(UInt8(ascii: "["))
        elements.withUnsafeBufferPointer { elements in
            for index in elements.indices {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: elements[index])
            }
        }
        append(UInt8(ascii: "]"))
    }

    public func append(jsonObject object: JSONObject) {
        append(UInt8(ascii: "{"))
        object.members.withUnsafeBufferPointer { members in
            for index in members.indices {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(quoted: members[index].key)
                append(UInt8(ascii: ":"))
                append(json: members[index].value)
            }
        }
        append(UInt8(ascii: "}"))
    }

    /// Writes an object of one member, an integer: what most changes are.
    public func append(onlyMember key: String, _ number: Int) {
        guard let small = SmallText(key), small.isPlain else {
            append(UInt8(ascii: "{"), member: key, number)
            return append(UInt8(ascii: "}"))
        }
        write(atMost: SmallText.longest + 25) { pen in
            pen.append(UInt8(ascii: "{"))
            pen.append(quoted: small)
            pen.append(UInt8(ascii: ":"))
            pen.append(decimal: number)
            pen.append(UInt8(ascii: "}"))
        }
    }

    /// Writes what stands before a member's value: `mark`, which is a brace or a comma, the key and a colon.
    public func append(_ mark: UInt8, member key: String) {
        guard let small = SmallText(key), small.isPlain else {
            append(mark)
            append(quoted: key)
            return append(UInt8(ascii: ":"))
        }
        write(atMost: SmallText.longest + 4) { pen in
            pen.append(mark)
            pen.append(quoted: small)
            pen.append(UInt8(ascii: ":"))
        }
    }

    /// Writes a member that is an integer, in the same way.
    public func append(_ mark: UInt8, member key: String, _ number: Int) {
        guard let small = SmallText(key), small.isPlain else {
            append(mark, member: key)
            return append(decimal: number)
        }
        write(atMost: SmallText.longest + 24) { pen in
            pen.append(mark)
            pen.append(quoted: small)
            pen.append(UInt8(ascii: ":"))
            pen.append(decimal: number)
        }
    }

    /// Writes a finite double; Swift's description is the shortest text that reads back as the same double.
    public func append(double value: Double) {
        precondition(value.isFinite, "JSON has no infinity and no NaN; arithmetic must refuse them before.")
        guard let short = ShortDecimal(value) else { return append(raw: value.description) }
        write(atMost: ShortDecimal.longest) { short.write(with: &$0) }
    }

    /// Writes a string in quotes, escaping only what JSON demands.
    public func append(quoted text: String) {
        if let small = SmallText(text), small.isPlain {
            return write(atMost: SmallText.longest + 2) { $0.append(quoted: small) }
        }
        text.withBytes { append(quoted: $0) }
    }

    /// Writes UTF-8 as a JSON string.
    public func append(quoted source: UnsafeRawBufferPointer) {
        reserve(source.count &+ 2)
        append(UInt8(ascii: "\""))
        var rest = source
        while true {
            let plain = ByteScan.plainCount(rest)
            append(UnsafeRawBufferPointer(rebasing: rest[..<plain]))
            if plain == rest.count { break }
            append(escaped: rest[plain])
            rest = UnsafeRawBufferPointer(rebasing: rest[(plain + 1)...])
        }
        append(UInt8(ascii: "\""))
    }

    func append(escaped byte: UInt8) {
        switch byte {
        case 0x22: append("\\\"")
        case 0x5c: append("\\\\")
        case 0x08: append("\\b")
        case 0x0c: append("\\f")
        case 0x0a: append("\\n")
        case 0x0d: append("\\r")
        case 0x09: append("\\t")
        default:
            append("\\u00")
            append(hexDigit(byte >> 4))
            append(hexDigit(byte & 15))
        }
    }

    /// Writes a number in base 16, in lower case, without leading zeros.
    public func append(hexadecimal number: UInt64) {
        let digits = max(1, (67 - number.leadingZeroBitCount) / 4)
        for place in (0..<digits).reversed() {
            append(hexDigit(UInt8(truncatingIfNeeded: number >> UInt64(4 * place)) & 15))
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 48 : value + 87
    }
}

/// Punctuation and names known when the program was built, and the value behind them.
extension ByteWriter {
    @inlinable @inline(__always)
    public func append(_ text: StaticString, decimal number: Int) {
        append(text)
        append(decimal: number)
    }

    public func append(_ text: StaticString, raw value: String) {
        append(text)
        append(raw: value)
    }

    public func append(_ text: StaticString, quoted value: String) {
        append(text)
        append(quoted: value)
    }

    public func append(_ text: StaticString, json value: JSON) {
        append(text)
        append(json: value)
    }

    public func append(_ text: StaticString, jsonArray elements: [JSON]) {
        append(text)
        append(jsonArray: elements)
    }

    public func append(_ text: StaticString, jsonObject object: JSONObject) {
        append(text)
        append(jsonObject: object)
    }
}

extension JSON {
    /// The canonical encoding as text.
    public var encoded: String {
        let writer = ByteWriter()
        writer.append(json: self)
        return writer.text
    }
}

extension JSONObject {
    /// The canonical encoding as text.
    public var encoded: String { JSON.object(self).encoded }
}

extension JSON: CustomStringConvertible {
    public var description: String { encoded }
}
