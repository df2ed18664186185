import Glibc

/// Passes a browser's WebSocket frames on in pieces of at most 16 KiB: the library behind it holds each frame as a whole,
/// however long the frame says it is. A frame of many bytes becomes its first piece and continuations; what a frame may be
/// otherwise is checked where frames are understood (`MessageReader`); but not whether it is masked, as a browser's are,
/// since the library doesn't tell: one that is not gets an opcode that is none.
///
/// Pure. It holds at most one frame's header.
package struct FrameSplitter {
    /// A multiple of 4, so that the mask starts over with each piece.
    package static let piece = 16 << 10
    private static let noOpcode: UInt8 = 0xf

    /// The header that is not complete.
    private var header: [UInt8] = []
    /// Payload of the present frame that is still to come.
    private var left: UInt64 = 0
    /// Payload that belongs to the piece whose header was passed on.
    private var leftOfPiece = 0
    /// What each piece of the present frame begins with.
    private var opcode: UInt8 = 0
    private var isFinal = false
    private var mask: [UInt8]?

    package init() {}

    package mutating func pass(_ bytes: some Collection<UInt8>, into queue: inout ByteQueue) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            if leftOfPiece > 0 {
                let payload = rest.prefix(leftOfPiece)
                queue.append(payload)
                rest = rest.dropFirst(payload.count)
                leftOfPiece -= payload.count
                if leftOfPiece == 0, left > 0 { beginPiece(&queue) }
                continue
            }
            header.append(rest.removeFirst())
            if let length = Self.length(ofHeader: header), header.count == length { beginFrame(&queue) }
        }
    }

    /// How long a header is, as soon as its beginning says that.
    private static func length(ofHeader header: [UInt8]) -> Int? {
        guard header.count >= 2 else { return nil }
        let extended = [126: 2, 127: 8][header[1] & 0x7f] ?? 0
        return 2 + extended + (header[1] & 0x80 != 0 ? 4 : 0)
    }

    private mutating func beginFrame(_ queue: inout ByteQueue) {
        let isMasked = header[1] & 0x80 != 0
        let extended = header[2..<(header.count - (isMasked ? 4 : 0))]
        left = extended.isEmpty ? UInt64(header[1] & 0x7f) : extended.reduce(0) { $0 << 8 | UInt64($1) }
        mask = isMasked ? Array(header.suffix(4)) : nil
        opcode = isMasked ? header[0] & 0x7f : Self.noOpcode
        isFinal = header[0] & 0x80 != 0
        header.removeAll(keepingCapacity: true)
        beginPiece(&queue)
    }

    private mutating func beginPiece(_ queue: inout ByteQueue) {
        leftOfPiece = Int(min(left, UInt64(Self.piece)))
        left -= UInt64(leftOfPiece)
        let masked: UInt8 = mask == nil ? 0 : 0x80
        var beginning: [UInt8] = [opcode | (isFinal && left == 0 ? 0x80 : 0)]
        if leftOfPiece < 126 {
            beginning.append(masked | UInt8(leftOfPiece))
        } else {
            beginning += [masked | 126, UInt8(leftOfPiece >> 8), UInt8(leftOfPiece & 0xff)]
        }
        queue.append(beginning + (mask ?? []))
        // Continuations, without the reserved bits of the first.
        opcode = 0
    }
}

/// Bytes on their way from one descriptor to another. Who fills it looks at `count` first, so it stays within the buffer's
/// limit and one read.
package struct ByteQueue {
    private var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package var count: Int { bytes.count - start }
    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ more: some Collection<UInt8>) {
        if start > 0, start >= bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    package mutating func removeFirst(_ count: Int) {
        start += count
        guard start == bytes.count else {
            // Nor what is left of one keep the memory of the whole.
            if start >= 64 << 10, start >= bytes.count / 2 { (bytes, start) = (Array(bytes[start...]), 0) }
            return
        }
        // One long answer must not be what an idle connection keeps.
        bytes = []
        start = 0
    }

    package mutating func removeAll() { self = ByteQueue() }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// What comes next, at most so many bytes.
    package func prefix(_ most: Int) -> ArraySlice<UInt8> { bytes[start...].prefix(most) }
}
