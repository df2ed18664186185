import BusJSON

extension String {
    /// Whether the string's UTF-8 bytes are exactly these.
    @inlinable @inline(__always)
    public func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool { UTF8Order.equal(self, bytes) }
}
