import BusJSON

/// The events of a subscription, in the order of the bus.
public enum SubscriptionEvent: Sendable {
    /// States are new, changed or gone. Parts of a split event come as one.
    case change(ChangeEvent)
    /// Nothing changed for this subscription up to this revision.
    case bookmark(revision: Int)
    /// An action was committed.
    case action(ActionEvent)
    /// Actions before this revision are missing; the bus no longer keeps them.
    case gap(revision: Int)
    /// The last event: nil when the client ended it.
    case ended(BusError?)

    /// The revision it has reached; nil at the end.
    public var revision: Int? {
        switch self {
        case .change(let event): event.revision
        case .bookmark(let revision), .gap(let revision): revision
        case .action(let event): event.revision
        case .ended: nil
        }
    }
}

/// One action that was committed.
public struct ActionEvent: Sendable {
    /// The event as the bus sent it.
    public let object: JSONObject
    public let revision: Int
    /// The type or the store it was dispatched to, and its place in a batch.
    public var type: String? { object["type"]?.string }
    public var store: String? { object["store"]?.string }
    public var index: Int? { object["index"]?.int }
    public var action: String { object["action"]?.string ?? "" }
    /// The payload with defaults filled in.
    public var payload: JSONObject { object["payload"]?.object ?? [:] }
    /// What it returned: of an action on one store, and by address of any other.
    public var result: JSON? { object["result"] }
    public var results: JSONObject { object["results"]?.object ?? [:] }
    /// The principal that caused it.
    public var by: JSONObject { object["by"]?.object ?? [:] }
    /// When, in seconds since 1970.
    public var time: Double { object["time"]?.double ?? 0 }
    /// Its place in a trace, as W3C's Trace Context writes it; of a dispatch that had one.
    public var traceparent: String? { object["traceparent"]?.string }

    init(object: JSONObject, revision: Int) {
        self.object = object
        self.revision = revision
    }
}

/// One change of the stores of a subscription: all changes between two revisions.
public struct ChangeEvent: Sendable {
    /// The event as the bus sent it; of a split one, all parts together.
    public let object: JSONObject
    /// The revision of this subscription's previous event, and of this one.
    public let from: Int
    public let revision: Int

    init(object: JSONObject, from: Int, revision: Int) {
        self.object = object
        self.from = from
        self.revision = revision
    }

    /// True when everything known before has to be forgotten.
    public var isReset: Bool { object["reset"]?.bool ?? false }
    /// Whole states by address.
    public var states: JSONObject { object["states"]?.object ?? [:] }
    /// Changes by address, in the subscription's format.
    public var changes: JSONObject { object["changes"]?.object ?? [:] }
    /// The addresses of stores that are gone.
    public var dropped: [String] { (object["dropped"]?.array ?? []).compactMap(\.string) }
    /// How many commits were merged; nil when it is one.
    public var coalesced: Int? { object["coalesced"]?.int }
    /// The actions, the principal and the time, where the subscription wants them and it is one commit.
    public var cause: JSONObject? { object["cause"]?.object }
}

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
    /// An ephemeral store could not be created again on the new connection, or was not, because a drop may have been for it.
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

/// A place in a history at which a subscription can continue: a revision and the epoch it belongs to.
public struct ResumePoint: Sendable, Hashable {
    public let revision: Int
    public let epoch: String

    public init(revision: Int, epoch: String) {
        self.revision = revision
        self.epoch = epoch
    }
}
