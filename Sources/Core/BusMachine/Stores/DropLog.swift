/// The stores dropped recently, for subscriptions that resume or lag behind. Bounded: what is older than the bound is
/// forgotten, and a subscription that would need it gets an ordinary reset. Also those that left what subscriptions with an
/// expression want.
package struct DropLog {
    package struct Drop {
        package let revision: Int
        package let type: Int32
        package let name: String

        package init(revision: Int, type: Int32, name: String) {
            (self.revision, self.type, self.name) = (revision, type, name)
        }
    }

    /// This many are remembered, and up to a page more.
    private let limit: Int

    /// This many are forgotten at once: few enough that no client waits for it.
    private static let pageSize = 512

    /// Pages, all full but the last one.
    private var pages: [ContiguousArray<Drop>] = []

    /// Drops up to and including this revision are forgotten.
    package private(set) var forgottenThrough = 0

    package init(
        _ drops: [Drop] = [], forgottenThrough: Int = 0, limit: Int = BusLimits.rememberedDrops
    ) {
        self.limit = limit
        for drop in drops { append(drop) }
        self.forgottenThrough = forgottenThrough
    }

    package mutating func note(_ drop: Drop) {
        append(drop)
        if known > limit + Self.pageSize {
            forgottenThrough = pages[0].last!.revision
            pages.removeFirst()
            forgottenCount += Self.pageSize
        }
    }

    private mutating func append(_ drop: Drop) {
        if pages.last?.count ?? Self.pageSize == Self.pageSize {
            pages.append([])
            pages[pages.count - 1].reserveCapacity(Self.pageSize)
        }
        pages[pages.count - 1].append(drop)
    }

    /// Whether all drops after `revision` are still known.
    package func reaches(back revision: Int) -> Bool { revision >= forgottenThrough }

    /// How many drops there ever were, up to the oldest one known, and up to the newest.
    package private(set) var forgottenCount = 0
    package var count: Int { forgottenCount + known }

    /// How many are known.
    package var known: Int { pages.isEmpty ? 0 : (pages.count - 1) * Self.pageSize + pages.last!.count }

    /// One of them, counted from the first there ever was.
    package subscript(number: Int) -> Drop {
        let place = number - forgottenCount
        return pages[place / Self.pageSize][place % Self.pageSize]
    }

    /// The revision of the newest one; nil where none is known.
    package var newest: Int? { pages.last?.last?.revision }

    /// The number of the first drop after `revision`.
    package func number(after revision: Int) -> Int {
        var low = forgottenCount
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
