#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes several pieces into room that was made for all of them at once: an event or a reply has a dozen, and asking
/// for room at each costs more than writing it.
///
/// The caller says how much is written at most, and `ByteWriter.write` stops the program if it was more; so only
/// pieces of bounded length are written with it. Short ones are stored in whole words, which may reach behind their
/// end, where the next piece begins: never further than `BytePen.spill`.
@frozen
public struct BytePen: ~Copyable {
    /// How far behind a piece's end its last word may reach.
    @usableFromInline static var spill: Int { 16 }

    @usableFromInline var place: UnsafeMutableRawPointer
    @usableFromInline let end: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    init(at place: UnsafeMutableRawPointer, room: Int) {
        self.place = place
        end = place + room
    }

    @inlinable @inline(__always)
    mutating func advance(_ count: Int) {
        place += count
        assert(place <= end, "More is written than there is room for.")
    }

    @inlinable @inline(__always)
    public mutating func append(_ byte: UInt8) {
        place.storeBytes(of: byte, as: UInt8.self)
        advance(1)
    }

    /// Writes text that needs no escapes: punctuation and member names known when the program was built.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        memcpy(place, text.utf8Start, text.utf8CodeUnitCount)
        advance(text.utf8CodeUnitCount)
    }

    @inlinable @inline(__always)
    public mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let start = source.baseAddress else { return }
        memcpy(place, start, source.count)
        advance(source.count)
    }

    /// Writes the `count` lowest bytes of a word, at most 8, the lowest first.
    @inlinable @inline(__always)
    public mutating func append(word: UInt64, count: Int) {
        place.storeBytes(of: word.littleEndian, as: UInt64.self)
        advance(count)
    }

    /// Writes the bytes of `text` as they are, without quotes or escapes.
    @inlinable @inline(__always)
    public mutating func append(raw text: String) {
        guard let small = SmallText(text) else { return appendBytes(of: text) }
        place.storeBytes(of: small.low, as: UInt64.self)
        (place + 8).storeBytes(of: small.rest, as: UInt64.self)
        advance(small.count)
    }

    /// Writes a short string in quotes, at most 17 bytes.
    @inline(__always)
    mutating func append(quoted text: SmallText) {
        let words = text.padded
        place.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        (place + 1).storeBytes(of: words.low, as: UInt64.self)
        (place + 9).storeBytes(of: words.high, as: UInt64.self)
        (place + 1 + text.count).storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        advance(text.count &+ 2)
    }

    @usableFromInline
    mutating func appendBytes(of text: String) {
        let place = place
        advance(
            text.withBytes { bytes in
                if let start = bytes.baseAddress { memcpy(place, start, bytes.count) }
                return bytes.count
            })
    }

    /// Writes a decimal integer, at most 20 bytes.
    @inlinable @inline(__always)
    public mutating func append(decimal value: Int) {
        if value >= 0 && value < 10 {
            append(UInt8(truncatingIfNeeded: value) &+ 48)
        } else {
            advance(DecimalDigits.write(value, at: place))
        }
    }
}

extension ByteWriter {
    /// Writes at most `room` bytes with a pen.
    @inlinable @inline(__always)
    public func write(atMost room: Int, _ body: (inout BytePen) -> Void) {
        reserve(room &+ BytePen.spill)
        let start = UnsafeMutableRawPointer(base + written)
        var pen = BytePen(at: start, room: room)
        body(&pen)
        precondition(pen.place <= start + room, "More was written than there was room for.")
        written &+= pen.place - start
    }
}
