import Synchronization

/// Delivers emissions to one observer through an executor: in order and one at a time, even if the executor runs its
/// work on many threads at once. Work that the executor drops is made up for by the next piece.
final class Mailbox<Value: Sendable>: Sendable {
    private struct Post {
        let number: UInt64
        let emission: Emission<Value>
        /// Whether it was posted while observers were notified of a replay.
        let isReplay: Bool
    }

    private struct Contents {
        var line = FirstInFirstOut<Post>()
        /// The number of the last emission that was posted, and of the last one that the executor has called for.
        var posted: UInt64 = 0
        var due: UInt64 = 0
        var isRunning = false
        var isClosed = false
    }

    private let contents = Mutex(Contents())
    private let executor: FluxExecutor
    private let receive: @Sendable (Emission<Value>) -> Void

    init(executor: FluxExecutor, receive: @escaping @Sendable (Emission<Value>) -> Void) {
        self.executor = executor
        self.receive = receive
    }

    func post(_ emission: Emission<Value>) {
        let isReplay = ThreadContext.current.isReplaying
        let number = contents.withLock { contents in
            contents.posted += 1
            contents.line.append(Post(number: contents.posted, emission: emission, isReplay: isReplay))
            return contents.posted
        }
        executor.execute { self.handOver(through: number) }
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

    private func handOver(through number: UInt64) {
        let isMine = contents.withLock { contents in
            contents.due = max(contents.due, number)
            guard !contents.isRunning else { return false }
            contents.isRunning = true
            return true
        }
        guard isMine else { return }
        let context = ThreadContext.current
        let stay = context.enter()
        while let post = next() {
            let outer = context.beginTelling(isReplay: post.isReplay)
            receive(post.emission)
            context.endTelling(outer)
        }
        context.leave(stay)
    }

    private func next() -> Post? {
        contents.withLock { contents in
            guard !contents.isClosed, let first = contents.line.first, first.number <= contents.due else {
                contents.isRunning = false
                return nil
            }
            return contents.line.popFirst()
        }
    }
}
