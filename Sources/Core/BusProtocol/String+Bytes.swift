import BusJSON

extension String {
    /// Whether the string's UTF-8 bytes are exactly these.
    @inlinable @inline(__always)
    public func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool { UTF8Order.equal(self, bytes) }

    /// At most `limit` bytes of it, so cut that whole Unicode scalars stay: how messages quote what others wrote. Its
    /// cost does not grow with the text, as counting characters does, of which one may have a million bytes.
    package func shortened(to limit: Int) -> String {
        if utf8.count <= limit { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit - 3))
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}
