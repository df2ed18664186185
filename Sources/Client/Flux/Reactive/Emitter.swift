import Synchronization

/// The core of every source of values: its observers, its latest value, and the emissions still to be delivered.
///
/// Value and queue of emissions change under one lock; observers are called outside it, by one deliverer at a time.
/// Hence every observer receives the same values in the same order, in the order of registration for each value, and a
/// late one receives the latest value and then exactly those after it. An observer may do anything here: register,
/// dispose, emit; what it emits comes after what is being delivered.
@usableFromInline
final class Emitter<Value: Sendable>: Sendable {
    @usableFromInline
    struct Contents {
        @usableFromInline var latest: Value?
        @usableFromInline var observers: [Observer<Value>] = []
        @usableFromInline var line = FirstInFirstOut<Queued>()
        /// The number of the last emission that was queued.
        @usableFromInline var number: UInt64 = 0
        @usableFromInline var isDelivering = false
        @usableFromInline var isFinished = false

        /// Queues an emission. Without observers there is nobody to deliver it to: one that comes later begins with the
        /// latest value. Returns whether it is queued.
        @inlinable
        mutating func putInLine(_ emission: Emission<Value>, isReplay: Bool = false) -> Bool {
            if observers.isEmpty { return false }
            number += 1
            line.append(Queued(number: number, emission: emission, isReplay: isReplay))
            return true
        }

        /// What is to be delivered next, and to whom.
        @inlinable
        mutating func nextRound() -> Round? {
            guard let next = line.popFirst() else { return nil }
            let round = Round(next: next, observers: observers)
            if case .end = next.emission { observers = [] }
            return round
        }

        @inlinable
        init(latest: Value?) { self.latest = latest }
    }

    @usableFromInline
    struct Queued {
        @usableFromInline let number: UInt64
        @usableFromInline let emission: Emission<Value>
        /// Whether a replay has led to it; then what its observers dispatch is ignored.
        @usableFromInline let isReplay: Bool

        @inlinable
        init(number: UInt64, emission: Emission<Value>, isReplay: Bool) {
            self.number = number
            self.emission = emission
            self.isReplay = isReplay
        }
    }

    @usableFromInline
    struct Round {
        @usableFromInline let next: Queued
        @usableFromInline let observers: [Observer<Value>]

        @inlinable
        init(next: Queued, observers: [Observer<Value>]) {
            self.next = next
            self.observers = observers
        }
    }

    @usableFromInline let contents: Mutex<Contents>
    @usableFromInline let keepsLatest: Bool

    /// A source that keeps no value.
    init() {
        contents = Mutex(Contents(latest: nil))
        keepsLatest = false
    }

    /// A source that has a value from the start.
    @inlinable
    init(_ value: Value) {
        contents = Mutex(Contents(latest: value))
        keepsLatest = true
    }

    /// The latest value, of a source that keeps it.
    @inlinable var latest: Value {
        guard let latest = contents.withLock({ $0.latest }) else {
            preconditionFailure("A source without a first value has no latest one; don't ask it.")
        }
        return latest
    }

    /// Sets the value and queues it, without notifying observers yet. Returns whether there is anything to deliver.
    @inlinable
    @discardableResult
    func put(_ value: Value, isReplay: Bool = false) -> Bool {
        // The previous value gets its place, and is released outside the lock: its deinit may do anything.
        var latest: Value? = value
        return contents.withLock { contents in
            guard !contents.isFinished else { return false }
            if keepsLatest { swap(&contents.latest, &latest) }
            return contents.putInLine(.value(value), isReplay: isReplay)
        }
    }

    @inlinable
    func send(_ value: Value) {
        let context = ThreadContext.current
        if put(value, isReplay: context.isReplaying) { deliver(context) }
    }

    /// Sends a value, and keeps it for later observers.
    func keep(_ value: Value) {
        contents.withLock { contents in
            guard !contents.isFinished else { return }
            contents.latest = value
            _ = contents.putInLine(.value(value))
        }
        deliver()
    }

    /// Changes the latest value, without another change in between.
    func modify<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let isReplay = ThreadContext.current.isReplaying
        // What is not kept is released outside the lock: its deinit may do anything.
        var value: Value?
        let result = try contents.withLock { contents throws(Failure) -> Result? in
            guard !contents.isFinished, let latest = contents.latest else { return nil }
            value = latest
            let result = try change(&value!)
            swap(&contents.latest, &value)
            if let latest = contents.latest { _ = contents.putInLine(.value(latest), isReplay: isReplay) }
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
            _ = contents.putInLine(.end)
        }
        deliver()
    }

    /// Delivers what is queued, unless another caller is doing so already, which then delivers this too.
    func deliver() { deliver(.current) }

    @inlinable
    func deliver(_ context: ThreadContext) {
        var round = contents.withLock { contents -> Round? in
            if contents.isDelivering { return nil }
            let round = contents.nextRound()
            contents.isDelivering = round != nil
            return round
        }
        if round == nil { return }
        let stay = context.enter()
        while let current = round {
            let next = current.next
            let outer = context.beginTelling(isReplay: next.isReplay)
            for observer in current.observers where observer.joined < next.number {
                observer.offer(next.emission, isReplay: next.isReplay)
            }
            context.endTelling(outer)
            round = contents.withLock { contents -> Round? in
                let round = contents.nextRound()
                if round == nil { contents.isDelivering = false }
                return round
            }
        }
        context.leave(stay)
    }

    @usableFromInline
    func attach(
        _ isWanted: (@Sendable () -> Bool)?, _ receive: @escaping @Sendable (Emission<Value>) -> Void
    ) -> Disposable {
        var receive = receive
        if let isWanted { receive = { [receive] in if isWanted() { receive($0) } } }
        let context = ThreadContext.current
        let isReplay = context.isReplaying
        let observer = contents.withLock { contents in
            var first = FirstInFirstOut<Observer<Value>.Kept>()
            if let latest = contents.latest {
                first.append(.init(emission: .value(latest), isReplay: isReplay))
            }
            if contents.isFinished { first.append(.init(emission: .end, isReplay: isReplay)) }
            let observer = Observer(joined: contents.number, first: first, receive: receive)
            if !contents.isFinished { contents.observers.append(observer) }
            return observer
        }
        let disposable = Disposable(endingWith: observer) { [weak self, weak observer] in
            guard let observer else { return }
            observer.dispose()
            self?.remove(observer)
        }
        let stay = context.enter()
        observer.start(context)
        context.leave(stay)
        return disposable
    }

    private func remove(_ observer: Observer<Value>) {
        // The closure of the removed observer may hold anything, so it is released outside the lock.
        _ = contents.withLock { contents in
            contents.observers.firstIndex { $0 === observer }.map { contents.observers.remove(at: $0) }
        }
    }
}

/// What a source delivers to its observers: a value, or its end.
@usableFromInline
enum Emission<Value: Sendable>: Sendable {
    case value(Value)
    case end

    @inlinable
    func map<Other>(_ transform: (Value) -> Other) -> Emission<Other> {
        switch self {
        case .value(let value): .value(transform(value))
        case .end: .end
        }
    }
}
