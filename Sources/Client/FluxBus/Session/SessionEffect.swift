/// What the session's owner has to carry out, in this order.
package enum SessionEffect {
    /// A request has left the session; its place in the window is free.
    case complete(Submission, ReplyOutcome)
    /// Nobody waits for a request any more, but the bus still owes its answer.
    case settle(Submission, ReplyOutcome)
    case event(SubscriptionRequest, SubscriptionEvent, size: Int)
    case greeted(BusGreeting)
    case status(BusStatus)
    case notice(BusNotice)
}
