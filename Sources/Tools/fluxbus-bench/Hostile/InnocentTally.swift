/// What became of the innocent's requests.
struct InnocentTally: @unchecked Sendable {
    // Handed from the thread that filled it to the one that reads it, never used by both: so the histograms may be classes.
    let replyTimes = Histogram()
    let deliveryTimes = Histogram()
    var requests = 0
    /// The longest time without a reply while one was due, in nanoseconds…
    var silence: UInt64 = 0
    /// …and without an event for the subscriber while one was due.
    var deliverySilence: UInt64 = 0
    /// How often what went wrong.
    private(set) var failures: [String: Int] = [:]

    mutating func fail(_ reason: String, times: Int = 1) {
        if times > 0 { failures[reason, default: 0] += times }
    }

    var failureCount: Int { failures.values.reduce(0, +) }

    /// The reasons with their numbers, the most frequent first.
    var failureText: String {
        failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) × \($0.key)" }
            .joined(separator: ", ")
    }
}
