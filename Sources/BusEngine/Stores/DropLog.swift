/// The stores that went, for subscriptions that resume or lag behind. Bounded: what is older than the bound
/// is forgotten, and whoever would need it gets an ordinary reset.
struct DropLog {
    struct Drop {
        let revision: Int
        let type: Int32
        let name: String
    }

    private(set) var drops: [Drop] = []

    /// Drops up to and including this revision are forgotten.
    private(set) var forgottenThrough = 0

    init(_ drops: [Drop] = [], forgottenThrough: Int = 0) {
        self.drops = drops
        self.forgottenThrough = forgottenThrough
    }

    mutating func note(_ drop: Drop) {
        drops.append(drop)
        if drops.count > 2 * Limits.rememberedDrops {
            let surplus = drops.count - Limits.rememberedDrops
            forgottenThrough = drops[surplus - 1].revision
            drops.removeFirst(surplus)
            forgottenCount += surplus
        }
    }

    /// Whether all drops after `revision` are still known.
    func reaches(back revision: Int) -> Bool { revision >= forgottenThrough }

    /// How many there ever were, up to the oldest one known, and up to the newest.
    private(set) var forgottenCount = 0
    var count: Int { forgottenCount + drops.count }

    /// One of them, counted from the first there ever was.
    subscript(number: Int) -> Drop { drops[number - forgottenCount] }

    /// The number of the first drop after `revision`.
    func number(after revision: Int) -> Int {
        var low = 0
        var high = drops.count
        while low < high {
            let middle = (low + high) / 2
            if drops[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return forgottenCount + low
    }
}
