import BusJSON
import Synchronization

/// The events of a subscription, in the order of the bus, for one consumer.
///
/// It ends normally when it is cancelled or the bus is closed, and throws when the bus refuses to continue it. It lasts
/// as long as it is held or iterated over.
public struct Subscription: AsyncSequence, Sendable {
    let handle: SubscriptionHandle
    let buffer: EventBuffer
    /// The revision and epoch at which it began.
    public let start: ResumePoint

    init(handle: SubscriptionHandle, buffer: EventBuffer, reply: JSONObject) {
        self.handle = handle
        self.buffer = buffer
        start = ResumePoint(
            revision: reply["revision"]?.int ?? 0, epoch: reply["epoch"]?.string ?? "")
    }

    /// Its number among the subscriptions of one bus, as in notices.
    public var number: Int { handle.number }

    /// Ends it: buffered events can still be taken, then the sequence ends.
    public func cancel() {
        handle.cancel()
        buffer.end()
    }

    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    public struct Iterator: AsyncIteratorProtocol {
        let subscription: Subscription
        private var isOver = false

        init(subscription: Subscription) { self.subscription = subscription }

        public mutating func next() async throws(BusError) -> SubscriptionEvent? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BusError) -> SubscriptionEvent? {
            guard !isOver, let event = await subscription.buffer.next(isolation: actor) else { return nil }
            guard case .ended(let error) = event else { return event }
            isOver = true
            if let error { throw error }
            return nil
        }
    }
}

/// The lifetime of a subscription: it ends when this is cancelled or released.
public final class SubscriptionHandle: Sendable {
    /// Raised once, read by the bus's thread.
    final class Flag: Sendable {
        private let state = Atomic<Bool>(false)
        var isRaised: Bool { state.load(ordering: .acquiring) }
        /// True for the first call only.
        func raise() -> Bool { !state.exchange(true, ordering: .acquiringAndReleasing) }
    }

    /// Its number among the subscriptions of one bus, as in notices.
    public let number: Int
    let flag = Flag()
    private let core: BusCore

    init(number: Int, core: BusCore) {
        self.number = number
        self.core = core
    }

    deinit { cancel() }

    /// There is room again for the events of a subscription that paused.
    package func proceed() { core.hand(over: .continueSubscription(number)) }

    /// Ends the subscription. A callback that runs at this moment is not waited for; none begins afterwards.
    public func cancel() {
        if flag.raise() { core.hand(over: .cancelSubscription(number)) }
    }
}

/// The events that a subscription's consumer has not taken yet, with a bound.
///
/// Beyond the bound the subscription is paused; when half of it is taken, it continues. One consumer at a time.
final class EventBuffer: Sendable {
    typealias Room = @Sendable () -> Void

    private struct State {
        var events = RingQueue<(event: SubscriptionEvent, size: Int)>()
        var bytes = 0
        var isResting = false
        var hasEnded = false
        var consumer: UnsafeContinuation<SubscriptionEvent?, Never>?
        var onRoom: Room?
    }

    private let mostEvents: Int
    private let mostBytes: Int
    private let state = Mutex(State())

    init(mostEvents: Int, mostBytes: Int) {
        self.mostEvents = max(1, mostEvents)
        self.mostBytes = mostBytes
    }

    /// Called when a buffer that was full has room again.
    var onRoom: Room? {
        get { state.withLock { $0.onRoom } }
        set { state.withLock { $0.onRoom = newValue } }
    }

    /// Adds an event; false when it was the last one there is room for.
    func take(_ event: SubscriptionEvent, size: Int) -> Bool {
        let (consumer, hasRoom) = state.withLock { state in
            if case .ended = event { state.hasEnded = true }
            if let consumer = state.consumer {
                state.consumer = nil
                return (Optional(consumer), true)
            }
            state.events.append((event, size))
            state.bytes += size
            if state.hasEnded { return (nil, true) }
            state.isResting = state.events.count >= mostEvents || state.bytes >= mostBytes
            return (nil, !state.isResting)
        }
        consumer?.resume(returning: event)
        return hasRoom
    }

    /// The next event, awaited; nil after the end, and when the task is cancelled.
    func next(isolation: isolated (any Actor)?) async -> SubscriptionEvent? {
        let (ready, onRoom) = state.withLock { takeReady(&$0) }
        onRoom?()
        if let ready { return ready }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // An event may have come since, and it may have been the one that filled the buffer.
                let (outcome, onRoom) = state.withLock { state -> (SubscriptionEvent??, Room?) in
                    let (ready, onRoom) = takeReady(&state)
                    if let ready { return (.some(ready), onRoom) }
                    if state.hasEnded || Task.isCancelled { return (.some(nil), nil) }
                    precondition(state.consumer == nil, "A subscription has one consumer at a time.")
                    state.consumer = continuation
                    return (.none, nil)
                }
                onRoom?()
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let consumer = state.withLock { state in
                defer { state.consumer = nil }
                return state.consumer
            }
            consumer?.resume(returning: nil)
        }
    }

    /// Ends the buffer; the events in it can still be taken.
    func end() {
        let consumer = state.withLock { state in
            state.hasEnded = true
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(returning: nil)
    }

    private func takeReady(_ state: inout State) -> (SubscriptionEvent?, Room?) {
        guard let first = state.events.popFirst() else { return (nil, nil) }
        state.bytes -= first.size
        guard state.isResting, state.events.count <= mostEvents / 2, state.bytes <= mostBytes / 2 else {
            return (first.event, nil)
        }
        state.isResting = false
        return (first.event, state.onRoom)
    }
}
