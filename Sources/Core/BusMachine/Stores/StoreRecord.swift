import BusJSON

/// One store. Records are stored in slabs and identified by their index; the order in which stores changed is a list
/// through them, so that a subscription that lags finds what changed without looking at the rest.
public struct StoreRecord {
    /// The part of the address after the slash.
    public let name: String
    public internal(set) var state: JSONObject
    /// The last commit that changed it.
    public internal(set) var revision: Int
    /// When it last changed, in the order of all changes to stores; unique, unlike the revision.
    public internal(set) var sequence: Int
    /// The session that it is dropped with; -1 when it stays.
    public internal(set) var owner: Int
    /// Neighbours in its type's list of changes: the one that changed before, and after.
    public internal(set) var older: Int32
    public internal(set) var newer: Int32
    /// The type's index in the state machine.
    public let type: Int32
    /// Its place in the type's list of members.
    var place: Int32
    /// The state's encoded size, in bytes.
    public internal(set) var size: Int32
    /// Its creator: an identity's number, or one of the constants below.
    public let creator: Int32
    /// Its place in the write set of the commit being made; -1 outside one.
    var write: Int32

    /// The first of its timers, its lease among them; -1 when it has none.
    var timers: Int32 = -1

    /// Creator of stores that the configuration lists.
    package static let configured: Int32 = -2
    package static let nobody: Int32 = -1
    /// Creator of the stores of views.
    package static let view: Int32 = -3
}
