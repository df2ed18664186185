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
        var first = true
        for element in elements {
            if !first { append(UInt8(ascii: ",")) }
            first = false
            append(json: element)
        }
        append(UInt8(ascii: "]"))
    }

    public func append(jsonObject object: JSONObject) {
        append(UInt8(ascii: "{"))
        var first = true
        for member in object.members {
            if !first { append(UInt8(ascii: ",")) }
            first = false
            append(quoted: member.key)
            append(UInt8(ascii: ":"))
            append(json: member.value)
        }
        append(UInt8(ascii: "}"))
    }

    /// Writes a finite double; Swift's description is the shortest text that reads back as the same double.
    public func append(double value: Double) {
        precondition(value.isFinite, "JSON has no infinity and no NaN; arithmetic must refuse them before.")
        append(raw: value.description)
    }

    /// Writes a string in quotes, escaping only what JSON demands.
    public func append(quoted text: String) {
        text.utf8Span.span.withUnsafeBytes { source in
            reserve(source.count + 2)
            append(UInt8(ascii: "\""))
            var clean = 0
            for index in 0..<source.count {
                let byte = source[index]
                if byte >= 0x20 && byte != 0x22 && byte != 0x5c { continue }
                append(UnsafeRawBufferPointer(rebasing: source[clean..<index]))
                append(escaped: byte)
                clean = index + 1
            }
            append(UnsafeRawBufferPointer(rebasing: source[clean...]))
            append(UInt8(ascii: "\""))
        }
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

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + 48 : value + 87
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
