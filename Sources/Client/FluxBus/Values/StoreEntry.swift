import BusJSON

/// One store in a list of stores.
public struct StoreEntry: Sendable, Hashable {
    public let address: String
    /// The last commit that changed it.
    public let revision: Int
    /// Whether it goes with the connection that made it.
    public let isEphemeral: Bool

    init?(_ entry: JSON) {
        guard let address = entry["store"]?.string, let revision = entry["revision"]?.int else { return nil }
        self.address = address
        self.revision = revision
        isEphemeral = entry["ephemeral"]?.bool ?? false
    }
}
