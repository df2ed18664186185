/// Walks the members of two objects side by side, in the order of their keys.
///
/// Both are sorted, so one pass finds what was removed (no `new`), what was added (no `old`), and what stands
/// in both.
struct MemberPairs: Sequence, IteratorProtocol {
    struct Pair {
        let key: String
        let old: JSON?
        let new: JSON?
    }

    private let old: [JSONObject.Member]
    private let new: [JSONObject.Member]
    private var oldIndex = 0
    private var newIndex = 0

    init(_ old: JSONObject, _ new: JSONObject) {
        self.old = old.members
        self.new = new.members
    }

    mutating func next() -> Pair? {
        let order: Int
        switch (oldIndex < old.count, newIndex < new.count) {
        case (true, true): order = UTF8Order.compare(old[oldIndex].key, new[newIndex].key)
        case (true, false): order = -1
        case (false, true): order = 1
        case (false, false): return nil
        }
        var before: JSON?
        var after: JSON?
        let key = order <= 0 ? old[oldIndex].key : new[newIndex].key
        if order <= 0 {
            before = old[oldIndex].value
            oldIndex += 1
        }
        if order >= 0 {
            after = new[newIndex].value
            newIndex += 1
        }
        return Pair(key: key, old: before, new: after)
    }
}
