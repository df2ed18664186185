extension ByteWriter {
    /// Writes one token of a JSON Pointer as it stands inside a JSON string: without quotes and without the
    /// `/` before it, escaped first for the pointer, then for the string.
    public func append(pointerToken token: String) {
        token.utf8Span.span.withUnsafeBytes { source in
            reserve(source.count)
            var clean = 0
            for index in 0..<source.count {
                let byte = source[index]
                let isPointerSyntax = byte == UInt8(ascii: "~") || byte == UInt8(ascii: "/")
                if byte >= 0x20 && byte != 0x22 && byte != 0x5c && !isPointerSyntax { continue }
                append(UnsafeRawBufferPointer(rebasing: source[clean..<index]))
                switch byte {
                case UInt8(ascii: "~"): append("~0")
                case UInt8(ascii: "/"): append("~1")
                default: append(escaped: byte)
                }
                clean = index + 1
            }
            append(UnsafeRawBufferPointer(rebasing: source[clean...]))
        }
    }
}
