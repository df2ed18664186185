import Synchronization

/// Delivers emissions to one observer through an executor: in order and one at a time, even if the executor runs its
/// work on many threads at once.
final class Mailbox<Value: Sendable>: Sendable {
    private struct Contents {
        /// Each with the source that it was replayed by, if it was.
        var line = FirstInFirstOut<(emission: Emission<Value>, replayed: ObjectIdentifier?)>()
        /// How many emissions the executor has called for that have not been delivered.
        var due = 0
        var isRunning = false
        var isClosed = false
    }

    private let contents = Mutex(Contents())
    private let executor: Executor
    private let receive: @Sendable (Emission<Value>) -> Void

    init(executor: Executor, receive: @escaping @Sendable (Emission<Value>) -> Void) {
        self.executor = executor
        self.receive = receive
    }

    func post(_ emission: Emission<Value>) {
        let replayed = ThreadContext.replayed
        contents.withLock { $0.line.append((emission, replayed)) }
        executor.execute { self.handOver() }
    }

    /// Delivers nothing any more.
    func close() {
        // Queued emissions are released outside the lock.
        _ = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.line = FirstInFirstOut() }
            return contents.line
        }
    }

    private func handOver() {
        let isMine = contents.withLock { contents in
            contents.due += 1
            guard !contents.isRunning else { return false }
            contents.isRunning = true
            return true
        }
        guard isMine else { return }
        ThreadContext.enter {
            while let (emission, replayed) = next() {
                ThreadContext.replaying(replayed) { receive(emission) }
            }
        }
    }

    private func next() -> (Emission<Value>, replayed: ObjectIdentifier?)? {
        contents.withLock { contents in
            guard contents.due > 0, !contents.isClosed, let next = contents.line.popFirst() else {
                contents.isRunning = false
                return nil
            }
            contents.due -= 1
            return next
        }
    }
}
