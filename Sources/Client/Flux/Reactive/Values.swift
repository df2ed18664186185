/// Values as an asynchronous sequence.
///
/// ```swift
/// for await count in store.values(\.count) { show(count) }
/// ```
///
/// Each loop over it observes for itself from its start on: of a ``Variable``, a ``Constant`` or a ``Store``
/// it receives the current value first. It ends when the source is released or the task is cancelled, and
/// ends its observation with itself.
public struct Values<Element: Sendable>: AsyncSequence, Sendable {
    let signal: Signal<Element>
    let buffering: Buffering

    /// One loop's place in the values.
    public struct Iterator: AsyncIteratorProtocol {
        var stream: AsyncStream<Element>.Iterator

        public mutating func next() async -> Element? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await stream.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator {
        let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
            switch buffering {
            case .unbounded: .unbounded
            case .newest(let count): .bufferingNewest(count < 1 ? 1 : count)
            }
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let observation = signal.attach { emission in
            switch emission {
            case .value(let value): continuation.yield(value)
            case .end: continuation.finish()
            }
        }
        continuation.onTermination = { _ in observation.dispose() }
        return Iterator(stream: stream.makeAsyncIterator())
    }
}

/// What an asynchronous sequence keeps for a loop that is slower than its source.
public enum Buffering: Sendable {
    /// Everything. It grows as long as the loop is slower.
    case unbounded
    /// The newest values up to this number, at least one; older ones are left out.
    case newest(Int)
}
