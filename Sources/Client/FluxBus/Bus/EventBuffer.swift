import Synchronization

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
            if let consumer = state.consumer {
                state.consumer = nil
                return (Optional(consumer), true)
            }
            state.events.append((event, size))
            state.bytes += size
            if case .ended = event { return (nil, true) }
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
