import BusJSON

/// One wish for events: what is to be observed, and where the events go.
struct SubscriptionRequest: Sendable {
    /// What the receiver says to an event.
    enum Verdict: Sendable {
        case goOn
        /// It has taken this one and has no room for more; the subscription rests until it is continued.
        case rest
    }

    /// Counts the subscriptions of one bus, over all its connections.
    let number: Int
    /// `subscribe` with everything but `since`, `epoch` and `initial`.
    let request: BusRequest
    let format: Mirror.Format
    let isOfActions: Bool
    /// Whether the first event is to be the states as they are.
    let wantsFirstStates: Bool
    /// Where to begin, if not now.
    let start: ResumePoint?
    /// Takes an event and its size in bytes.
    let receive: @Sendable (SubscriptionEvent, Int) -> Verdict
}
