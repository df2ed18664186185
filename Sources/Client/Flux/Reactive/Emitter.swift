import Synchronization

/// The core of every source of values: its observers, its latest value, and the emissions still to be delivered.
///
/// Value and queue of emissions change under one lock; observers are called outside it, by one deliverer at a time.
/// Hence every observer receives the same values in the same order, in the order of registration for each value, and a
/// late one receives the latest value and then exactly those after it. An observer may do anything here: register,
/// dispose, emit; what it emits comes after what is being delivered.
final class Emitter<Value: Sendable>: Sendable {
    private struct Contents {
        var latest: Value?
        var observers: [Observer<Value>] = []
        var line = FirstInFirstOut<Queued>()
        /// The number of the last emission that was queued.
        var number: UInt64 = 0
        var isDelivering = false
        var isFinished = false

        mutating func putInLine(_ emission: Emission<Value>, isReplay: Bool = false) {
            number += 1
            line.append(Queued(number: number, emission: emission, isReplay: isReplay))
        }
    }

    private struct Queued {
        let number: UInt64
        let emission: Emission<Value>
        /// Whether a replay has led to it; then what its observers dispatch is ignored.
        let isReplay: Bool
    }

    private let contents: Mutex<Contents>
    private let keepsLatest: Bool

    /// A source that keeps no value.
    init() {
        contents = Mutex(Contents())
        keepsLatest = false
    }

    /// A source that has a value from the start.
    init(_ value: Value) {
        contents = Mutex(Contents(latest: value))
        keepsLatest = true
    }

    /// The latest value, of a source that keeps it.
    var latest: Value {
        guard let latest = contents.withLock({ $0.latest }) else {
            preconditionFailure("A source without a first value has no latest one; don't ask it.")
        }
        return latest
    }

    /// Sets the value and queues it, without notifying observers yet.
    func put(_ value: Value, isReplay: Bool = false) {
        // The previous value is released outside the lock: its deinit may do anything.
        _ = contents.withLock { contents in
            guard !contents.isFinished else { return Value?.none }
            let before = contents.latest
            if keepsLatest { contents.latest = value }
            contents.putInLine(.value(value), isReplay: isReplay)
            return before
        }
    }

    func send(_ value: Value) {
        put(value, isReplay: ThreadContext.isReplaying)
        deliver()
    }

    /// Changes the latest value in place: no other change comes between reading and writing.
    func modify<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let isReplay = ThreadContext.isReplaying
        let result = try contents.withLock { contents throws(Failure) -> Result? in
            guard !contents.isFinished, var value = contents.latest else { return nil }
            let result = try change(&value)
            contents.latest = value
            contents.putInLine(.value(value), isReplay: isReplay)
            return result
        }
        deliver()
        return result
    }

    /// Ends the source: no value will follow; observers are notified after the values before.
    func finish() {
        contents.withLock { contents in
            guard !contents.isFinished else { return }
            contents.isFinished = true
            contents.putInLine(.end)
        }
        deliver()
    }

    /// Delivers what is queued, unless another caller is doing so already, which then delivers this too.
    func deliver() {
        let isMine = contents.withLock { contents in
            guard !contents.isDelivering, !contents.line.isEmpty else { return false }
            contents.isDelivering = true
            return true
        }
        guard isMine else { return }
        ThreadContext.enter { context in
            while let (next, observers) = nextRound() {
                context.tell(isReplay: next.isReplay) {
                    for observer in observers where observer.joined < next.number {
                        observer.offer(next.emission, isReplay: next.isReplay)
                    }
                }
            }
        }
    }

    func attach(_ receive: @escaping @Sendable (Emission<Value>) -> Void) -> Disposable {
        let isReplay = ThreadContext.isReplaying
        let observer = contents.withLock { contents in
            var first = FirstInFirstOut<Observer<Value>.Kept>()
            if let latest = contents.latest { first.append((.value(latest), isReplay)) }
            if contents.isFinished { first.append((.end, isReplay)) }
            let observer = Observer(joined: contents.number, first: first, receive: receive)
            if !contents.isFinished { contents.observers.append(observer) }
            return observer
        }
        let disposable = Disposable(endingWith: observer) { [weak self, weak observer] in
            guard let observer else { return }
            observer.dispose()
            self?.remove(observer)
        }
        ThreadContext.enter { observer.start($0) }
        return disposable
    }

    private func nextRound() -> (Queued, observers: [Observer<Value>])? {
        contents.withLock { contents in
            guard let next = contents.line.popFirst() else {
                contents.isDelivering = false
                return nil
            }
            let observers = contents.observers
            if case .end = next.emission { contents.observers = [] }
            return (next, observers)
        }
    }

    private func remove(_ observer: Observer<Value>) {
        // The closure of the removed observer may hold anything, so it is released outside the lock.
        _ = contents.withLock { contents in
            contents.observers.firstIndex { $0 === observer }.map { contents.observers.remove(at: $0) }
        }
    }
}

/// What a source delivers to its observers: a value, or its end.
enum Emission<Value: Sendable>: Sendable {
    case value(Value)
    case end

    func map<Other>(_ transform: (Value) -> Other) -> Emission<Other> {
        switch self {
        case .value(let value): .value(transform(value))
        case .end: .end
        }
    }
}
