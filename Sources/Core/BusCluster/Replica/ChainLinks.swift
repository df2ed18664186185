/// The last links of the chain, by place.
struct ChainLinks {
    /// By growing place. The oldest ones may be past their time: they go in one step, now and then.
    private var all: [ChainLink]
    private var first = 0
    private let most: Int

    init(_ links: [ChainLink] = [.beginning], most: Int) {
        precondition(!links.isEmpty, "A chain has a last link.")
        all = links
        self.most = most
    }

    var last: ChainLink { all[all.count - 1] }
    var kept: ArraySlice<ChainLink> { all[first...] }

    mutating func append(_ link: ChainLink) {
        all.append(link)
        if all.count - first > most { first += 1 }
        guard first >= most else { return }
        all.removeFirst(first)
        first = 0
    }

    /// What is known of a place.
    enum Finding {
        /// There is a link.
        case link(ChainLink)
        /// It is no longer known what was there.
        case forgotten
        /// No entry was there, or none is there yet.
        case nothing
    }

    func find(_ place: Int) -> Finding {
        let kept = kept
        if place < kept[kept.startIndex].place { return .forgotten }
        let index = Self.index(of: place, in: kept)
        guard index < kept.endIndex, kept[index].place == place else { return .nothing }
        return .link(kept[index])
    }

    /// The link that lies `count` links before the last one at or before a place; nil if it is not kept.
    func link(_ count: Int, before place: Int) -> ChainLink? {
        let kept = kept
        let behind = Self.index(of: place + 1, in: kept)
        return behind - 1 - count >= kept.startIndex ? kept[behind - 1 - count] : nil
    }

    private static func index(of place: Int, in links: ArraySlice<ChainLink>) -> Int {
        var (low, high) = (links.startIndex, links.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if links[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
