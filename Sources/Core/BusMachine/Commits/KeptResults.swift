import BusJSON

/// The results of keyed commits, so that repeated requests are answered as the first ones were. If there is no room for more,
/// the oldest result is forgotten: a repetition of its request is answered without it.
package struct KeptResults {
    private var byRevision: [Int: JSONObject] = [:]
    /// Their revisions, ascending, from `first` on; some were forgotten.
    private var order: [Int] = []
    private var first = 0
    private var bytes = 0

    package init() {}

    package subscript(revision: Int) -> JSONObject? { byRevision.isEmpty ? nil : byRevision[revision] }

    package mutating func keep(_ results: JSONObject, of revision: Int) {
        let size = Self.size(results)
        forget(revision)
        guard size <= BusLimits.rememberedResults else { return }
        while bytes + size > BusLimits.rememberedResults { forgetOldest() }
        byRevision[revision] = results
        order.append(revision)
        bytes += size
    }

    package mutating func forget(_ revision: Int) {
        if byRevision.isEmpty { return }
        guard let results = byRevision.removeValue(forKey: revision) else { return }
        bytes -= Self.size(results)
        if byRevision.isEmpty { (order, first) = ([], 0) }
    }

    private mutating func forgetOldest() {
        let revision = order[first]
        first += 1
        if first > 1024, 2 * first > order.count {
            order.removeFirst(first)
            first = 0
        }
        forget(revision)
    }

    private static func size(_ results: JSONObject) -> Int { results.encodedSize + 64 }
}
