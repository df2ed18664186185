/// Base64 with padding: bytes as the text of a JSON value.
package enum Base64 {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// What each byte stands for; 255: nothing.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()
    private static let pad = UInt8(ascii: "=")

    /// How many bytes fit into a text of this length; at least one group.
    package static func bytes(in length: Int) -> Int { max(1, length / 4) * 3 }

    package static func append(_ bytes: UnsafeRawBufferPointer, to writer: ByteWriter) {
        writer.reserve((bytes.count + 2) / 3 * 4)
        letters.withUnsafeBufferPointer { letters in
            var place = 0
            while place + 2 < bytes.count {
                let group =
                    UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2])
                writer.append(letters[Int(group >> 18)])
                writer.append(letters[Int(group >> 12 & 63)])
                writer.append(letters[Int(group >> 6 & 63)])
                writer.append(letters[Int(group & 63)])
                place += 3
            }
            let left = bytes.count - place
            guard left > 0 else { return }
            let group = UInt32(bytes[place]) << 16 | (left == 2 ? UInt32(bytes[place + 1]) << 8 : 0)
            writer.append(letters[Int(group >> 18)])
            writer.append(letters[Int(group >> 12 & 63)])
            writer.append(left == 2 ? letters[Int(group >> 6 & 63)] : pad)
            writer.append(pad)
        }
    }

    /// Nil for what is not base64 with its padding.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard let last = text.last else { return [] }
        let padding = last != pad ? 0 : text[text.count - 2] != pad ? 1 : 2
        let count = text.count / 4 * 3 - padding
        var isGood = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { bytes, written in
            isGood = values.withUnsafeBufferPointer { values in
                decode(text, padding, values, into: bytes)
            }
            written = isGood ? count : 0
        }
        return isGood ? bytes : nil
    }

    /// Writes whole groups; padding counts as zeros.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ padding: Int, _ values: UnsafeBufferPointer<UInt8>,
        into bytes: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        var written = 0
        var seen: UInt8 = 0
        for place in stride(from: 0, to: text.count, by: 4) {
            let isLast = place + 4 == text.count
            let first = values[Int(text[place])]
            let second = values[Int(text[place + 1])]
            let third = isLast && padding == 2 ? 0 : values[Int(text[place + 2])]
            let fourth = isLast && padding > 0 ? 0 : values[Int(text[place + 3])]
            seen |= first | second | third | fourth
            let group =
                UInt32(first & 63) << 18 | UInt32(second & 63) << 12 | UInt32(third & 63) << 6
                | UInt32(fourth & 63)
            bytes[written] = UInt8(truncatingIfNeeded: group >> 16)
            bytes[written + 1] = UInt8(truncatingIfNeeded: group >> 8)
            bytes[written + 2] = UInt8(truncatingIfNeeded: group)
            written += 3
        }
        return seen < 64
    }
}
