/// The rules for the names in addresses.
package enum Names {
    package static let longestType = 64
    package static let longestStore = 128

    /// `[a-z][A-Za-z0-9_-]*`, at most 64 bytes: type and action names.
    package static func isTypeName(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, bytes.count <= longestType, isLower(first) else { return false }
        return bytes.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    /// The same for a string.
    package static func isTypeName(_ text: String) -> Bool {
        text.utf8Span.span.withUnsafeBytes { isTypeName($0) }
    }

    /// `[A-Za-z0-9][A-Za-z0-9_:@-]*`, at most 128 bytes: store names.
    package static func isStoreName(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, bytes.count <= longestStore, isAlphanumeric(first) else {
            return false
        }
        return bytes.allSatisfy {
            isAlphanumeric($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: ":")
                || $0 == UInt8(ascii: "@")
        }
    }

    /// The same for a string.
    package static func isStoreName(_ text: String) -> Bool {
        text.utf8Span.span.withUnsafeBytes { isStoreName($0) }
    }

    /// What a name of a type or an action, and of whatever is called like them, is made of, as advice.
    package static let typeNameRule =
        "start with a lower-case letter and continue with letters, digits, _ or -"

    package static let longestTimer = 64
    package static let timerNameRule =
        "begin with a letter or digit, go on with letters, digits, _ : @ or -, and use at most 64 bytes"

    /// `[A-Za-z0-9][A-Za-z0-9_:@-]*`, at most 64 bytes: names of timers. Those that the bus makes begin otherwise.
    package static func isTimerName(_ text: String) -> Bool {
        text.utf8.count <= longestTimer && isStoreName(text)
    }

    private static func isLower(_ byte: UInt8) -> Bool { byte &- 97 < 26 }

    @inline(__always)
    private static func isAlphanumeric(_ byte: UInt8) -> Bool { (byte | 0x20) &- 97 < 26 || byte &- 48 < 10 }
}

/// The two halves of `type/name`, as bytes of the text they were cut from.
package struct AddressParts {
    package let type: UnsafeRawBufferPointer
    package let name: UnsafeRawBufferPointer

    /// Cuts at the first slash; nil unless both halves follow the rules for names.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        type = UnsafeRawBufferPointer(rebasing: bytes[..<slash])
        name = UnsafeRawBufferPointer(rebasing: bytes[(slash + 1)...])
        guard Names.isTypeName(type), Names.isStoreName(name) else { return nil }
    }
}
