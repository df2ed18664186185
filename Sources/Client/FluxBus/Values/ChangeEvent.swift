import BusJSON

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
