/// What may stand in an address and in a header of HTTP.
package enum HTTPAddress {
    private static let schemes = ["https://", "http://"]

    /// What has to be done to an address that can't be posted to: a clause. Nil: it can.
    package static func advice(on text: String) -> String? {
        guard schemes.contains(where: text.hasPrefix) else { return "begin it with https:// or http://" }
        if let wrong = text.unicodeScalars.first(where: { !("!"..."~" ~= $0) }) {
            let what = wrong.value >= 32 ? "`\(wrong)`" : "the character \(wrong.value)"
            return "write \(encoded(String(wrong))) for \(what)"
        }
        let host = authority(of: text)
        if host.contains("@") { return "put user and password into a header from a file" }
        return host.isEmpty || host.hasPrefix(":") ? "name a host" : nil
    }

    /// The host, and the port where there is one.
    package static func authority(of text: String) -> Substring {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        return text[start...].prefix { !"/?#".contains($0) }
    }

    static func isPlain(_ text: String) -> Bool { text.hasPrefix("http://") }

    /// Whether what is sent there stays on this machine.
    static func isLocal(_ text: String) -> Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains { host in
            authority(of: text) == host || authority(of: text).hasPrefix("\(host):")
        }
    }

    /// Whether what follows the beginning of an address belongs to no host any more.
    static func endsHost(_ text: String) -> Bool { authority(of: text).endIndex < text.endIndex }

    /// A text as it stands in a path or in a query: all but letters, digits and `-._~` percent-encoded.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a character may stand in a header's name.
    package static func isToken(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "!", "#", "$", "%", "&", "'", "*", "+", "-", ".", "^", "_", "`",
            "|",
            "~":
            true
        default: false
        }
    }

    /// Whether a text can be the value of a header.
    static func isHeader(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

    /// The value of a header. A refusal is a clause.
    package static func header(_ text: String, _ what: String) throws(EffectRefusal) -> String {
        guard isHeader(text) else {
            throw EffectRefusal("\(what) has a line's end or a control character in it")
        }
        guard text.utf8.count <= EffectLimits.header else {
            throw EffectRefusal("\(what) is longer than \(EffectLimits.header) bytes")
        }
        return text
    }
}
