import BusJSON

/// One store. Records lie in slabs and are known by their index; the order in which stores changed is a list
/// through them, so that whoever lags behind finds what changed without looking at the rest.
struct StoreRecord {
    /// The half of the address behind the slash.
    let name: String
    var state: JSONObject
    /// The last commit that changed it.
    var revision: Int
    /// When it last changed, in the order of all changes to stores; unique, unlike the revision.
    var sequence: Int
    /// The shapes that name this store or a pattern it matches; those of its whole type stand at the type.
    var shapes: [Shape]
    /// Neighbours in its type's list of changes: the one that changed before, and after.
    var older: Int32
    var newer: Int32
    /// The type's index in the engine.
    let type: Int32
    /// Its place in the type's list of members.
    var place: Int32
    /// The state's encoded size, in bytes.
    var size: Int32
    /// Who made it: an identity, or one of the constants below.
    let creator: Int32
    /// The connection it goes with; -1 when it stays.
    let owner: Int32
    /// Its place among the stores of the commit being made; -1 outside one.
    var touch: Int32

    /// Creator of stores that stand in the configuration.
    static let configured: Int32 = -2
    static let nobody: Int32 = -1
}
