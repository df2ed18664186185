import Dispatch
import Synchronization

/// The main thread of a program waits for asynchronous work.
package enum Waiting {
    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }

    package static func done(_ work: @escaping @Sendable () async -> Void) {
        let box = Box<Bool>()
        Task {
            await work()
            box.isThere.signal()
        }
        box.isThere.wait()
    }

    package static func result<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let box = Box<Result<Value, Failure>>()
        done {
            let result: Result<Value, Failure>
            do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
            box.value.withLock { $0 = result }
        }
        guard let result = box.value.withLock({ $0 }) else { preconditionFailure("The work was done.") }
        return try result.get()
    }
}
