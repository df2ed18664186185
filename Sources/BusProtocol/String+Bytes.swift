#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension String {
    /// Whether the string's UTF-8 bytes are exactly these.
    @inlinable
    public func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = self
        return text.utf8Span.span.withUnsafeBytes { own in
            own.count == bytes.count
                && (own.isEmpty || memcmp(own.baseAddress!, bytes.baseAddress!, own.count) == 0)
        }
    }
}
