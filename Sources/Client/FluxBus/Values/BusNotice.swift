/// An event of a bus's connection that belongs to no single request.
public enum BusNotice: Sendable, Equatable {
    /// The connection was lost, for this reason. It is being restored.
    case lost(BusError)
    /// An attempt to connect failed; the next one follows.
    case attemptFailed(attempt: Int, BusError)
    /// The connection is restored, at this revision of this epoch; so are will, ephemeral stores and subscriptions.
    case reconnected(epoch: String, revision: Int)
    /// The bus began a new history: earlier revisions are no longer valid.
    case epochChanged(from: String, to: String)
    /// This many subscriptions were resumed at their positions.
    case resumed(subscriptions: Int)
    /// A subscription could not be resumed; it was reset to the whole states.
    case reset(subscription: Int)
    /// This many requests without an answer were sent again.
    case retried(requests: Int)
    /// An ephemeral store could not be created again on the new connection.
    case ephemeralStoreLost(address: String, BusError)
    /// The will could not be set again on the new connection.
    case willLost(BusError)
    /// An unacknowledged dispatch failed.
    case dispatchFailed(BusError)
    /// A consumer was slow: its subscription pauses until it has caught up.
    case paused(subscription: Int)
    /// It has caught up; the subscription continues.
    case continued(subscription: Int)
}

/// The status of a `Bus`.
public enum BusStatus: Sendable, Equatable {
    /// The first connection is being opened.
    case connecting
    case connected
    /// The connection was lost for `error`; the given attempt, counted from 1, is due or under way.
    case reconnecting(attempt: Int, error: BusError)
    /// It ended: by `close`, or for an error that a retry does not help.
    case closed(BusError?)
}
