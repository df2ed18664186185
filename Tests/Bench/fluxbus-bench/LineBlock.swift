/// The lines that one connection sends, again and again, as one run of bytes.
///
/// Keys of requests count on with each pass, since the bus answers one that it knows without a commit.
final class LineBlock {
    private let bytes: UnsafeMutableRawBufferPointer
    /// Where each line ends.
    private let ends: [Int]
    /// Whether each line commits.
    private let commits: [Bool]
    /// Where in each line a key's digits stand; empty where lines have no keys.
    private let digits: [Range<Int>?]
    /// How many lines have been taken.
    private var taken = 0
    /// Where the lines that were taken end.
    private var end = 0

    struct Line {
        /// With its end.
        let bytes: [UInt8]
        /// Whether it changes something, so that subscribers hear of it.
        var commits = true
    }

    /// What lines come to that have been taken.
    struct Share {
        var bytes = 0
        var commits = 0
    }

    /// There are more than can be on their way at once, so that none that waits to be sent is
    /// changed. `keyMark` stands before the digits of each key.
    init(_ lines: [Line], pipeline: Int, keyMark: [UInt8] = [], digitCount: Int = 0) {
        precondition(!lines.isEmpty, "A block has lines.")
        let repeats = (2 * pipeline + lines.count - 1) / lines.count
        let all = Array(repeatElement(lines, count: max(1, repeats)).joined())
        bytes = .allocate(byteCount: all.reduce(0) { $0 + $1.bytes.count }, alignment: 64)
        var (ends, digits): ([Int], [Range<Int>?]) = ([], [])
        for line in all.map(\.bytes) {
            let start = ends.last ?? 0
            UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyBytes(from: line)
            ends.append(start + line.count)
            digits.append(
                Self.place(of: keyMark, in: line).map { start + $0..<start + $0 + digitCount })
        }
        self.ends = ends
        commits = all.map(\.commits)
        self.digits = digits.contains { $0 != nil } ? digits : []
    }

    deinit { bytes.deallocate() }

    private static func place(of mark: [UInt8], in line: [UInt8]) -> Int? {
        guard !mark.isEmpty, line.count > mark.count else { return nil }
        return (0..<line.count - mark.count).first { line[$0..<$0 + mark.count].elementsEqual(mark) }
            .map { $0 + mark.count }
    }

    /// Takes the next lines to be sent.
    func take(_ count: Int) -> Share {
        var share = Share()
        for number in taken..<taken + count {
            let line = number % ends.count
            share.bytes += ends[line] - (line == 0 ? 0 : ends[line - 1])
            if commits[line] { share.commits += 1 }
            if !digits.isEmpty, let place = digits[line] { write(number, at: place) }
        }
        taken += count
        end = (end + share.bytes) % bytes.count
        return share
    }

    /// The bytes to send next, where so many of those taken are left; at most up to the end of the block.
    func rest(_ left: Int) -> UnsafeRawBufferPointer {
        let start = (end - left % bytes.count + bytes.count) % bytes.count
        return UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + left)])
    }

    private func write(_ number: Int, at place: Range<Int>) {
        var rest = number
        for index in place.reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }

    /// Whether every line commits, so that deliveries follow in the order of requests.
    var alwaysCommits: Bool { !commits.contains(false) }
}

/// Counts line ends, eight bytes at a time: the measuring loop does nothing else with received bytes.
@inline(__always)
package func newlineCount(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let ones: UInt64 = 0x0101_0101_0101_0101
    let low: UInt64 = 0x7f7f_7f7f_7f7f_7f7f
    var total = 0
    var offset = 0
    while bytes.count &- offset >= 8 {
        // Each of the eight lanes counts its line ends. The sum of the lanes must fit into a byte.
        let end = offset &+ min((bytes.count &- offset) / 8, 31) &* 8
        var lanes: UInt64 = 0
        while offset < end {
            // A lane's top bit ends up clear exactly where the byte was a line end.
            let word = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ (ones &* 0x0a)
            lanes &+= (~(((word & low) &+ low) | word) &>> 7) & ones
            offset &+= 8
        }
        total &+= Int(truncatingIfNeeded: (lanes &* ones) &>> 56)
    }
    while offset < bytes.count {
        if base.load(fromByteOffset: offset, as: UInt8.self) == 0x0a { total &+= 1 }
        offset &+= 1
    }
    return total
}
