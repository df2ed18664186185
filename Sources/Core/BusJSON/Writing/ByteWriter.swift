#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A growing run of bytes that JSON is written into: the only place where the bus turns values into text.
///
/// It is a reference, so that one run of bytes can be handed to many sockets without being copied. It belongs
/// to one serial owner; nothing here is synchronised. Storage is kept when the bytes are cleared.
public final class ByteWriter {
    // The owner is serial, so the checks of exclusive access that each byte would pay for find nothing.
    @exclusivity(unchecked) @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @exclusivity(unchecked) @usableFromInline var capacity: Int

    /// How many bytes have been written.
    @exclusivity(unchecked) @usableFromInline var written: Int

    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        base = .allocate(capacity: self.capacity)
        written = 0
    }

    deinit { base.deallocate() }

    @inlinable public var count: Int { written }
    @inlinable public var isEmpty: Bool { written == 0 }

    /// The bytes reserved in memory, written or not.
    @inlinable public var reserved: Int { capacity }

    /// The bytes written so far; valid until the next write.
    @inlinable public var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: written)
    }

    /// The bytes as text, for tests and messages.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    @inlinable public func clear() { written = 0 }

    /// Takes back everything written after the first `count` bytes.
    @inlinable
    public func truncate(to count: Int) {
        precondition(count >= 0 && count <= written, "A writer can only be cut back to what it holds.")
        written = count
    }

    /// Forgets what was written and gives the storage back.
    public func shrink() {
        base.deallocate()
        capacity = 256
        base = .allocate(capacity: capacity)
        written = 0
    }

    /// Makes room for `extra` more bytes.
    @inlinable
    public func reserve(_ extra: Int) {
        if capacity - written < extra { grow(by: extra) }
    }

    @usableFromInline @inline(never)
    func grow(by extra: Int) {
        var larger = capacity * 2
        // Who knows how much it will write gets that much: large texts need not take twice their size.
        if larger - written < extra { larger = (written + extra + 4095) & ~4095 }
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        memcpy(moved, base, written)
        base.deallocate()
        base = moved
        capacity = larger
    }

    @inlinable @inline(__always)
    public func append(_ byte: UInt8) {
        reserve(1)
        base[written] = byte
        written &+= 1
    }

    @inlinable
    public func append(_ source: UnsafeRawBufferPointer) {
        guard let start = source.baseAddress else { return }
        reserve(source.count)
        memcpy(base + written, start, source.count)
        written &+= source.count
    }

    /// Writes text that needs no escapes: punctuation and member names known when the program was built.
    @inlinable @inline(__always)
    public func append(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        reserve(count)
        memcpy(base + written, text.utf8Start, count)
        written &+= count
    }

    /// Writes the bytes of `text` as they are, without quotes or escapes.
    @inlinable @inline(__always)
    public func append(raw text: String) {
        guard let small = SmallText(text) else { return appendBytes(of: text) }
        // Both words are stored, whatever the length.
        reserve(16)
        let place = UnsafeMutableRawPointer(base + written)
        place.storeBytes(of: small.low, as: UInt64.self)
        (place + 8).storeBytes(of: small.rest, as: UInt64.self)
        written &+= small.count
    }

    @usableFromInline
    func appendBytes(of text: String) {
        text.withBytes { append($0) }
    }

    /// Writes a decimal integer.
    @inlinable
    public func append(decimal value: Int) {
        reserve(DecimalDigits.room)
        if value >= 0 && value < 10 {
            base[written] = UInt8(truncatingIfNeeded: value) &+ 48
            written &+= 1
        } else {
            written &+= DecimalDigits.write(value, at: base + written)
        }
    }
}
