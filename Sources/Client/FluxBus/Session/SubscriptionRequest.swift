import BusJSON

/// A request for events: what to observe, and where the events go.
package struct SubscriptionRequest: Sendable {
    /// The receiver's answer to an event.
    package enum Verdict: Sendable {
        case goOn
        /// It has taken this one and has no room for more; the subscription pauses until it is continued.
        case rest
    }

    /// Its number among the subscriptions of one bus, over all connections.
    package let number: Int
    /// `subscribe` with everything but `since`, `epoch` and `initial`.
    package let request: BusRequest
    let format: BusMirror.Format
    let isOfActions: Bool
    /// Whether the first event holds the current states.
    let wantsFirstStates: Bool
    /// Where to begin, if not now.
    let start: ResumePoint?
    /// Receives an event and its size in bytes.
    package let receive: @Sendable (SubscriptionEvent, Int) -> Verdict

    package init(
        number: Int, request: BusRequest, format: BusMirror.Format = .merge, isOfActions: Bool = false,
        wantsFirstStates: Bool = true, start: ResumePoint? = nil,
        receive: @escaping @Sendable (SubscriptionEvent, Int) -> Verdict
    ) {
        self.number = number
        self.request = request
        self.format = format
        self.isOfActions = isOfActions
        self.wantsFirstStates = wantsFirstStates
        self.start = start
        self.receive = receive
    }
}
