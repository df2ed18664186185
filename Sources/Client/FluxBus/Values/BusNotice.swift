/// Something that happened to a bus's connection and that no single request tells.
public enum BusNotice: Sendable, Equatable {
    /// The connection was lost, for this reason. It is being made again.
    case lost(BusError)
    /// An attempt to connect failed; the next one follows.
    case attemptFailed(attempt: Int, BusError)
    /// The connection is there again, at this revision of this epoch; will, ephemeral stores and subscriptions
    /// are restored.
    case reconnected(epoch: String, revision: Int)
    /// The bus began a new history: revisions known before mean nothing now.
    case epochChanged(from: String, to: String)
    /// This many subscriptions were taken up where they stood.
    case resumed(subscriptions: Int)
    /// A subscription could not be taken up where it stood; it began anew with the whole states.
    case reset(subscription: Int)
    /// This many requests without an answer were sent again.
    case retried(requests: Int)
    /// An ephemeral store could not be made again on the new connection.
    case ephemeralStoreLost(address: String, BusError)
    /// The will could not be set again on the new connection.
    case willLost(BusError)
    /// A dispatch that asked for no acknowledgement failed.
    case dispatchFailed(BusError)
    /// A consumer was slow: its subscription rests until it has caught up.
    case paused(subscription: Int)
    /// It has caught up; the subscription goes on.
    case continued(subscription: Int)
}

/// Where a `Bus` stands.
public enum BusStatus: Sendable, Equatable {
    /// The first connection is being made.
    case connecting
    case connected
    /// The connection was lost for `error`; the given attempt, counted from 1, is due or under way.
    case reconnecting(attempt: Int, error: BusError)
    /// It ended: by `close`, or for an error that trying again does not help.
    case closed(BusError?)
}
