import BusJSON

/// One store. Records lie in slabs and are known by their index; the order in which stores changed is a list
/// through them, so that whoever lags behind finds what changed without looking at the rest.
public struct StoreRecord {
    /// The half of the address behind the slash.
    public let name: String
    public internal(set) var state: JSONObject
    /// The last commit that changed it.
    public internal(set) var revision: Int
    /// When it last changed, in the order of all changes to stores; unique, unlike the revision.
    public internal(set) var sequence: Int
    /// The session it goes with; -1 when it stays.
    public let owner: Int
    /// Neighbours in its type's list of changes: the one that changed before, and after.
    public internal(set) var older: Int32
    public internal(set) var newer: Int32
    /// The type's index in the state machine.
    public let type: Int32
    /// Its place in the type's list of members.
    var place: Int32
    /// The state's encoded size, in bytes.
    public internal(set) var size: Int32
    /// Who made it: an identity's number, or one of the constants below.
    public let creator: Int32
    /// Its place in the write set of the commit being made; -1 outside one.
    var write: Int32

    /// Creator of stores that stand in the configuration.
    package static let configured: Int32 = -2
    package static let nobody: Int32 = -1
}
