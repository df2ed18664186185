import Glibc

/// Checks a write-ahead log before SQLite reads it. SQLite uses its frames up to the first that does not follow
/// from the previous one, and silently ignores the rest: that is right for the end of a crash, and silent loss when
/// a bit in the middle has flipped.
struct WALScan {
    /// Commits behind the first broken frame that belong to the same generation of the log.
    private(set) var commitsBehindBreak = 0
    /// Whether not even its first bytes are valid, although there are more.
    private(set) var isHeaderBroken = false
    /// Whether it is absent, or too short to hold anything.
    private(set) var isEmpty = true

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Without a file nothing is broken.
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

    /// SQLite's checksum: two running sums over pairs of numbers.
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
