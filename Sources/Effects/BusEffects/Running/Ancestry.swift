/// Which effects recent commits follow from, so that one which causes itself is found.
///
/// It is told of each dispatch of an effect, and remembers a bounded number of commits: a loop that takes longer than they
/// are remembered is none that would hurt.
package struct Ancestry {
    /// How often an effect stands in the ancestry of a commit, and since when, in nanoseconds.
    private struct Descent {
        var count: Int
        let start: Int
    }

    private var descents: [Int: [String: Descent]] = [:]
    private var order: [Int] = []
    private var oldest = 0

    package init() {}

    /// Notes that an effect's dispatch for an event became a commit. Returns whether it goes on causing itself: more
    /// often than the rate has it, at half its pace or faster.
    package mutating func note(
        _ revision: Int, from event: Int, by effect: String, rate: Effect.Rate, at now: Int
    ) -> Bool {
        var all = descents[event] ?? [:]
        var own = all[effect] ?? Descent(count: 0, start: now)
        own.count += 1
        all[effect] = own
        if descents.updateValue(all, forKey: revision) == nil { remember(revision) }
        // Slower than this it does no harm.
        let (turns, unit) = (Double(own.count), rate.time.seconds / Double(rate.count))
        return own.count > rate.count + 1 && Double(now - own.start) / 1e9 <= 2 * unit * turns
    }

    private mutating func remember(_ revision: Int) {
        order.append(revision)
        guard order.count - oldest > EffectLimits.ancestors else { return }
        descents[order[oldest]] = nil
        oldest += 1
        guard oldest > EffectLimits.ancestors else { return }
        order.removeFirst(oldest)
        oldest = 0
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
    var nanoseconds: Int {
        Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000)
    }
}
