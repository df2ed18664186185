import BusJSON

/// The stores of a reading request or a subscription.
public enum StorePattern: Hashable, Sendable {
    /// One store, by its address.
    case store(String)
    /// Every store of a type.
    case type(String)
    /// The stores whose addresses match a glob with exactly one slash: `counter/*`.
    case match(String)

    /// The member in a request, with its name.
    var member: (name: String, value: JSON) {
        switch self {
        case .store(let address): ("store", .string(address))
        case .type(let name): ("type", .string(name))
        case .match(let glob): ("match", .string(glob))
        }
    }
}

/// One store in a list of stores.
public struct StoreEntry: Sendable, Hashable {
    public let address: String
    /// The last commit that changed it.
    public let revision: Int
    /// Whether it is dropped with the connection that created it.
    public let isEphemeral: Bool

    init?(_ entry: JSON) {
        guard let address = entry["store"]?.string, let revision = entry["revision"]?.int else { return nil }
        self.address = address
        self.revision = revision
        isEphemeral = entry["ephemeral"]?.bool ?? false
    }
}
