import BusJSON

/// What a subscription hands on, in the order of the bus.
public enum SubscriptionEvent: Sendable {
    /// States are new, changed or gone. Parts of a split event come as one.
    case change(ChangeEvent)
    /// Nothing changed for this subscription up to this revision.
    case bookmark(revision: Int)
    /// An action was committed.
    case action(ActionEvent)
    /// Actions before this revision are missing; the bus keeps them no longer.
    case gap(revision: Int)
    /// The last event: nil when this side ended it.
    case ended(BusError?)

    /// The revision it stands at; nil at the end.
    public var revision: Int? {
        switch self {
        case .change(let event): event.revision
        case .bookmark(let revision), .gap(let revision): revision
        case .action(let event): event.revision
        case .ended: nil
        }
    }
}

/// One change of the stores of a subscription: all that became of them between two revisions.
public struct ChangeEvent: Sendable {
    /// The event as the bus sent it; of a split one, all parts together.
    public let object: JSONObject
    /// The revision of this subscription's event before, and of this one.
    public let from: Int
    public let revision: Int

    init(object: JSONObject, from: Int, revision: Int) {
        self.object = object
        self.from = from
        self.revision = revision
    }

    /// True when everything known before is to be forgotten.
    public var isReset: Bool { object["reset"]?.bool ?? false }
    /// Whole states by address.
    public var states: JSONObject { object["states"]?.object ?? [:] }
    /// Changes by address, in the subscription's format.
    public var changes: JSONObject { object["changes"]?.object ?? [:] }
    /// The addresses of stores that are gone.
    public var dropped: [String] { (object["dropped"]?.array ?? []).compactMap(\.string) }
    /// How many commits were merged; nil when it is one.
    public var coalesced: Int? { object["coalesced"]?.int }
    /// The actions, by whom and when, where the subscription asked for it and it is one commit.
    public var cause: JSONObject? { object["cause"]?.object }
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
    /// Who caused it.
    public var by: JSONObject { object["by"]?.object ?? [:] }
    /// When, in seconds since 1970.
    public var time: Double { object["time"]?.double ?? 0 }

    init(object: JSONObject, revision: Int) {
        self.object = object
        self.revision = revision
    }
}
