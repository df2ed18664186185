import BusJSON

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
