import BusJSON

/// One wish for events: what is to be observed, and where the events go.
package struct SubscriptionRequest: Sendable {
    /// What the receiver says to an event.
    package enum Verdict: Sendable {
        case goOn
        /// It has taken this one and has no room for more; the subscription rests until it is continued.
        case rest
    }

    /// Counts the subscriptions of one bus, over all its connections.
    package let number: Int
    /// `subscribe` with everything but `since`, `epoch` and `initial`.
    package let request: BusRequest
    let format: Mirror.Format
    let isOfActions: Bool
    /// Whether the first event is to be the states as they are.
    let wantsFirstStates: Bool
    /// Where to begin, if not now.
    let start: ResumePoint?
    /// Takes an event and its size in bytes.
    package let receive: @Sendable (SubscriptionEvent, Int) -> Verdict

    package init(
        number: Int, request: BusRequest, format: Mirror.Format = .merge, isOfActions: Bool = false,
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
