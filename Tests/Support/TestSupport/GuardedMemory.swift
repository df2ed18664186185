import Glibc
import Synchronization

/// Memory whose last byte is followed by a page that must not be touched: one byte read too far ends the test
/// run, in every build. (An address checker does not see the reads that the standard library does for us.)
package struct GuardedMemory {
    package static let size = 1 << 20

    private let start: UnsafeMutableRawPointer

    init() {
        let page = Int(getpagesize())
        let mapped = mmap(nil, Self.size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED, mprotect(mapped + Self.size, page, PROT_NONE) == 0 else {
            fatalError("The system gives no memory to guard.")
        }
        start = mapped
    }

    /// Lends a copy of `bytes` that ends where the memory does.
    package func withCopy<Result>(of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let copy = UnsafeMutableRawBufferPointer(start: start + Self.size - bytes.count, count: bytes.count)
        copy.copyBytes(from: bytes)
        return body(UnsafeRawBufferPointer(copy))
    }

    // The tests run side by side; each reader takes one for itself and gives it back.
    private static let idle = Mutex<[UInt]>([])

    package static func take() -> GuardedMemory {
        idle.withLock { $0.popLast() }.map(GuardedMemory.init(address:)) ?? GuardedMemory()
    }

    package func giveBack() { Self.idle.withLock { $0.append(UInt(bitPattern: start)) } }

    private init(address: UInt) { start = UnsafeMutableRawPointer(bitPattern: address)! }
}
