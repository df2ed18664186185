import BusJSON

/// States page by page; see `Bus.pages`.
public struct StatePages: AsyncSequence, Sendable {
    let bus: Bus
    let pattern: StorePattern
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
                pages.pattern, select: pages.select, limit: pages.limit, after: after)
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
