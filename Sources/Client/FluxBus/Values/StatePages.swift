import BusJSON

/// States page by page; see `Bus.pages`.
public struct StatePages: AsyncSequence, Sendable {
    let bus: Bus
    let pattern: StorePattern
    let condition: JSON?
    let select: [String]?
    let limit: Int?

    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    public struct Iterator: AsyncIteratorProtocol {
        let pages: StatePages
        private var after: String?
        private var isOver = false

        init(pages: StatePages) { self.pages = pages }

        public mutating func next() async throws(BusError) -> StatePage? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BusError) -> StatePage? {
            guard !isOver else { return nil }
            let page = try await pages.bus.get(
                pages.pattern, where: pages.condition, select: pages.select, limit: pages.limit, after: after)
            after = page.next
            isOver = page.next == nil
            return page
        }
    }
}

/// One page of the requested states.
public struct StatePage: Sendable, Equatable {
    /// The revision that the states are of.
    public let revision: Int
    /// States by address.
    public let states: JSONObject
    /// The address after which the next page begins; nil when this is the last page.
    public let next: String?
}

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

/// The bus's description of itself when a connection opens.
public struct BusGreeting: Sendable, Equatable {
    /// The daemon's name and version.
    public let server: String
    public let version: String
    /// The history that revisions belong to.
    public let epoch: String
    /// The revision at that moment.
    public let revision: Int
    /// This client's identity on the bus, as in `by`.
    public let identity: JSONObject
    /// The daemon's limits by their names in its configuration: `line`, `depth`, `state`, `batch`, …
    public let limits: JSONObject

    init?(_ reply: JSONObject) {
        guard let epoch = reply["epoch"]?.string, let revision = reply["revision"]?.int else { return nil }
        self.epoch = epoch
        self.revision = revision
        server = reply["server"]?.string ?? ""
        version = reply["version"]?.string ?? ""
        identity = reply["identity"]?.object ?? [:]
        limits = reply["limits"]?.object ?? [:]
    }
}
