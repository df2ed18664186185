import BusJSON

/// Which stores are meant by a reading request or a subscription.
public enum StorePattern: Hashable, Sendable {
    /// One store, by its address.
    case store(String)
    /// Every store of a type.
    case type(String)
    /// The stores whose addresses match a glob with exactly one slash: `counter/*`.
    case match(String)

    /// The member of a request, by its name.
    var member: (name: String, value: JSON) {
        switch self {
        case .store(let address): ("store", .string(address))
        case .type(let name): ("type", .string(name))
        case .match(let glob): ("match", .string(glob))
        }
    }
}
