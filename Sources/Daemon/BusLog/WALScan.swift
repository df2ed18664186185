import Glibc

/// Checks a write-ahead log before SQLite reads it. SQLite uses the frames up to the first one that does not follow from its
/// predecessor, and silently ignores the rest. That is right after a crash, which tears the end, but loses commits if a bit
/// in the middle has flipped.
struct WALScan {
    /// Commits from the first broken frame on, that frame included, that belong to the same generation of the log.
    private(set) var commitsBehindBreak = 0
    /// Whether the header is invalid although more bytes follow it.
    private(set) var isHeaderBroken = false
    /// Whether the log is absent, can't be opened, or is too short to hold a frame.
    private(set) var isEmpty = true

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Scans the log at `path`. A file that can't be opened counts as empty, not as broken.
    init(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        isEmpty = lseek(descriptor, 0, SEEK_END) < off_t(Self.headerSize + Self.frameHeaderSize + 512)
        let header = Self.read(descriptor, Self.headerSize, at: 0)
        guard header.count == Self.headerSize else { return }
        let magic = Self.number(header, 0)
        let pageSize = Int(Self.number(header, 8))
        let isBig = magic & 1 == 1
        var sum = Self.sum(header[..<24], (0, 0), isBig)
        guard magic & ~1 == 0x377f_0682, (512...65536).contains(pageSize),
            sum == (Self.number(header, 24), Self.number(header, 28))
        else {
            isHeaderBroken = lseek(descriptor, 0, SEEK_END) > off_t(Self.headerSize)
            return
        }
        var place = Self.headerSize
        var isBroken = false
        while true {
            let frame = Self.read(descriptor, Self.frameHeaderSize + pageSize, at: place)
            guard frame.count == Self.frameHeaderSize + pageSize else { return }
            place += frame.count
            // Frames of earlier generations remain until they are overwritten.
            let isOurs = frame[8..<16] == header[16..<24]
            if !isBroken {
                sum = Self.sum(frame[..<8], sum, isBig)
                sum = Self.sum(frame[Self.frameHeaderSize...], sum, isBig)
                isBroken = !isOurs || sum != (Self.number(frame, 16), Self.number(frame, 20))
            }
            if isBroken, isOurs, Self.number(frame, 4) != 0 { commitsBehindBreak += 1 }
        }
    }

    private static func read(_ descriptor: Int32, _ count: Int, at place: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { room, filled in
            filled = max(0, pread(descriptor, room.baseAddress, count, off_t(place)))
        }
    }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt32.self)) }
    }

    /// SQLite's checksum: two running sums over pairs of 32-bit numbers.
    private static func sum(_ bytes: ArraySlice<UInt8>, _ start: (UInt32, UInt32), _ isBig: Bool) -> (
        UInt32, UInt32
    ) {
        bytes.withUnsafeBytes { bytes in
            var (one, other) = start
            for place in stride(from: 0, to: bytes.count - 7, by: 8) {
                let first = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let second = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                one &+= (isBig ? first.bigEndian : first.littleEndian) &+ other
                other &+= (isBig ? second.bigEndian : second.littleEndian) &+ one
            }
            return (one, other)
        }
    }
}
