import Foundation

/// Threads whose stack is so small that what recurses over its input without a bound ends the tests there.
package enum SmallStack {
    /// A quarter of what Dispatch gives its threads at least, though frames of a debug build are larger.
    #if SANITIZE
        // A sanitizer's frames are several times as large.
        package static let bytes = 1 << 20
    #else
        package static let bytes = 128 << 10
    #endif

    private final class Outcome: @unchecked Sendable {
        var error: (any Error)?
    }

    /// Runs something on such a thread, and returns when it is done.
    package static func run(_ body: @escaping @Sendable () throws -> Void) throws {
        let (done, outcome) = (DispatchSemaphore(value: 0), Outcome())
        let (mode, count) = (BusMode.current, BusMode.count)
        let thread = Thread {
            do {
                try BusMode.$current.withValue(mode) { try BusMode.$count.withValue(count) { try body() } }
            } catch {
                outcome.error = error
            }
            done.signal()
        }
        thread.stackSize = bytes
        thread.start()
        done.wait()
        if let error = outcome.error { throw error }
    }
}
