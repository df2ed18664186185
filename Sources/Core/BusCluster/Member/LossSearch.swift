/// Looks for a place that a log still has, where it lacks all that a member has compared: in steps that grow, since each reads
/// the member's copy again. Any such place will do: what the log has behind it is applied from there.
package struct LossSearch {
    /// Behind it the log has nothing that the member has.
    private var most = Int.max
    private var step = 256
    private static let mostStep = 1 << 40
    /// Up to there too little is left of the log to be compared; nil: as far as is known all is there.
    private var trimmed: Int?
    private var wanted = 0

    package init() {}

    /// Nothing behind a place was in the log.
    package mutating func goBack(behind place: Int) -> ReplicaLack {
        most = min(most, place)
        // Where a log has nothing of it, this comes without end.
        step = min(2 * step, Self.mostStep)
        return lack()
    }

    /// What was to be compared is no longer there: it was too far back. Nil: there is nothing between.
    package mutating func goOn(trimmedThrough place: Int) -> ReplicaLack? {
        let low = max(trimmed ?? 0, place, wanted)
        trimmed = low
        return most - low > 1 ? lack() : nil
    }

    private mutating func lack() -> ReplicaLack {
        wanted = max(0, most - step)
        if let trimmed { wanted = min(most, max(wanted, trimmed + (most - trimmed) / 2)) }
        return ReplicaLack(least: 0, most: most, wanted: wanted)
    }
}
