import BusJSON
import Synchronization

/// Subscriptions, as a sequence and as a callback.
extension Bus {
    /// The options of a subscription.
    public struct SubscriptionOptions: Sendable {
        /// Only stores for which this expression holds now: a text, or an object of JsonLogic. One that comes to match arrives as
        /// a state, one that ceases to as dropped.
        public var condition: JSON?
        /// Keeps only what these JSON Pointers name.
        public var select: [String]?
        public var format = BusMirror.Format.merge
        /// Whether the first event holds the current states.
        public var wantsFirstStates = true
        /// Where to begin instead: what changed since then comes first, or a reset if that is not known any more.
        public var since: ResumePoint?
        /// Whether changes include their actions, the principal and the time.
        public var wantsCause = false
        /// Actions instead of changes.
        public var wantsActions = false
        /// The store that is followed, where it is to go on in an epoch that does not know it.
        var creation: SubscriptionRequest.Creation?

        public init() {}
    }

    /// Observes stores as a sequence of events.
    ///
    /// ```swift
    /// let subscription = try await bus.subscribe(to: .match("counter/*"))
    /// for try await event in subscription {
    ///     if case .change(let change) = event { … }
    /// }
    /// ```
    ///
    /// A consumer that lags behind costs bounded memory and loses nothing: see `bufferedEvents` of the options.
    /// Throws `unknown_type`, `invalid_request`, `limit`.
    public nonisolated(nonsending) func subscribe(
        to pattern: StorePattern, options: SubscriptionOptions = SubscriptionOptions(),
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> Subscription {
        let number = core.nextSubscription.add(1, ordering: .relaxed).oldValue
        let buffer = EventBuffer(
            mostEvents: core.options.bufferedEvents, mostBytes: core.options.bufferedBytes)
        let handle = SubscriptionHandle(number: number, core: core)
        buffer.onRoom = { [weak core] in core?.hand(over: .continueSubscription(number)) }
        let reply = try await subscribe(
            to: pattern, number: number, handle, options, timeout
        ) { event, size in buffer.take(event, size: size) ? .goOn : .rest }
        return Subscription(handle: handle, buffer: buffer, reply: reply)
    }

    /// Observes stores by a callback, which is called on the bus's thread: in the order of the bus, and before any
    /// later reply is passed to its caller. It must not block; it may call `post`, `postDispatch` and `cancel`. The
    /// last event is `ended`, unless the subscription was cancelled.
    ///
    /// The subscription lasts until the handle is cancelled or released.
    public nonisolated(nonsending) func subscribe(
        to pattern: StorePattern, options: SubscriptionOptions = SubscriptionOptions(),
        timeout: TimeLimit = .standard, onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) -> SubscriptionHandle {
        let number = core.nextSubscription.add(1, ordering: .relaxed).oldValue
        let handle = SubscriptionHandle(number: number, core: core)
        let flag = handle.flag
        _ = try await subscribe(to: pattern, number: number, handle, options, timeout) { event, _ in
            if !flag.isRaised { onEvent(event) }
            return .goOn
        }
        return handle
    }

    /// Subscribes with back-pressure: `onEvent` also receives the event's size in bytes, and returns whether it can take another.
    /// Once it returns false the bus pauses the subscription, without loss, until `proceed()` is called on the handle.
    package nonisolated(nonsending) func subscribe(
        to pattern: StorePattern, options: SubscriptionOptions, timeout: TimeLimit = .standard,
        takes onEvent: @escaping @Sendable (SubscriptionEvent, Int) -> Bool
    ) async throws(BusError) -> SubscriptionHandle {
        let number = core.nextSubscription.add(1, ordering: .relaxed).oldValue
        let handle = SubscriptionHandle(number: number, core: core)
        let flag = handle.flag
        _ = try await subscribe(to: pattern, number: number, handle, options, timeout) { event, size in
            flag.isRaised || onEvent(event, size) ? .goOn : .rest
        }
        return handle
    }

    private nonisolated(nonsending) func subscribe(
        to pattern: StorePattern, number: Int, _ handle: SubscriptionHandle, _ options: SubscriptionOptions,
        _ timeout: TimeLimit,
        receive: @escaping @Sendable (SubscriptionEvent, Int) -> SubscriptionRequest.Verdict
    ) async throws(BusError) -> JSONObject {
        let wire = Self.request(pattern, options)
        let request = SubscriptionRequest(
            number: number, request: wire, format: options.format, isOfActions: options.wantsActions,
            wantsFirstStates: options.wantsFirstStates, start: options.since, creation: options.creation,
            receive: receive)
        let submission = Submission(
            .request(wire), role: .subscribe(request), repetition: .free, deadline: deadline(timeout))
        await core.submit(submission)
        return try await PendingReply(submission: submission, core: core).value
    }

    private static func request(_ pattern: StorePattern, _ options: SubscriptionOptions) -> BusRequest {
        var request = BusRequest("subscribe")
        let member = pattern.member
        request.set(member.name, member.value)
        request.set("where", options.condition)
        request.set("select", options.select.map { .array($0.map(JSON.string)) })
        if options.format != .merge { request.set("format", .string(options.format.rawValue)) }
        if options.wantsCause { request.set("cause", true) }
        if options.wantsActions { request.set("actions", true) }
        return request
    }
}
