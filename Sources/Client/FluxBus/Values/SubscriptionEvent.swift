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
    /// The principal that caused it.
    public var by: JSONObject { object["by"]?.object ?? [:] }
    /// When, in seconds since 1970.
    public var time: Double { object["time"]?.double ?? 0 }

    init(object: JSONObject, revision: Int) {
        self.object = object
        self.revision = revision
    }
}
