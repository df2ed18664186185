/// Looks for a place that a log still has, after it was found to lack all places that a member has compared. The steps grow, since
/// each reads the member's copy again. Any such place will do: entries of the log are applied from there.
package struct LossSearch {
    /// The log has nothing behind this place that the member has.
    private var most = Int.max
    private var step = 256
    private static let mostStep = 1 << 40
    /// The log is trimmed up to this place, so nothing before it can be compared; nil: as far as is known it is not.
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

    /// The log no longer has the place that was to be compared. Returns where to look next; nil if nothing is left between.
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
