/// The subscriber groups that name single stores, by store: pages that are allocated when the first group needs them.
final class StoreGroups {
    private static let pageSize = 1024

    @exclusivity(unchecked) private var pages: [UnsafeMutablePointer<[SubscriberGroup]>?] = []
    /// The number of memberships: pairs of a group and a store.
    @exclusivity(unchecked) private(set) var count = 0

    /// The number of memberships, counted from nothing.
    var recount: Int {
        pages.reduce(0) { sum, page in
            (0..<(page == nil ? 0 : Self.pageSize)).reduce(sum) { $0 + page![$1].count }
        }
    }

    deinit { removeAll() }

    func removeAll() {
        for case let page? in pages {
            page.deinitialize(count: Self.pageSize)
            page.deallocate()
        }
        pages = []
        count = 0
    }

    /// The groups of a store in place; nil where it never had any. Valid until groups come or go.
    @inline(__always)
    subscript(store: Int32) -> UnsafeMutablePointer<[SubscriberGroup]>? {
        let place = Int(truncatingIfNeeded: store)
        guard place / Self.pageSize < pages.count, let page = pages[place / Self.pageSize] else { return nil }
        return page + place % Self.pageSize
    }

    func add(_ group: SubscriberGroup, to store: Int32) {
        let place = Int(store)
        while pages.count <= place / Self.pageSize { pages.append(nil) }
        if pages[place / Self.pageSize] == nil {
            let page = UnsafeMutablePointer<[SubscriberGroup]>.allocate(capacity: Self.pageSize)
            page.initialize(repeating: [], count: Self.pageSize)
            pages[place / Self.pageSize] = page
        }
        self[store]!.pointee.append(group)
        count += 1
    }

    /// Removes a group from a store, searching from the end: a connection that closes removes its latest first.
    func remove(_ group: SubscriberGroup, from store: Int32) {
        guard let groups = self[store],
            let place = groups.pointee.lastIndex(where: { $0 === group })
        else { return }
        groups.pointee.remove(at: place)
        count -= 1
    }

    /// A store is dropped: removes all of its groups and returns them.
    func removeAll(from store: Int32) -> [SubscriberGroup] {
        guard let groups = self[store], !groups.pointee.isEmpty else { return [] }
        defer { groups.pointee = [] }
        count -= groups.pointee.count
        return groups.pointee
    }
}
