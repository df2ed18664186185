import Glibc

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
        guard start == bytes.count else { return }
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
