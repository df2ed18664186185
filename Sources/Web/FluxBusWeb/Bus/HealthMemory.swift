import BusJSON
import FluxBus
import Synchronization

/// The counters of the bus within the last hour, with which the inspector's plots begin.
///
/// The bus is asked every ten seconds, and what is plotted of each answer is kept. When it does not answer, that is kept instead.
package final class HealthMemory: Sendable {
    /// An hour of samples.
    package static let most = 360
    package static let rhythm: Duration = .seconds(10)

    /// What is kept of `stats` as it is.
    private static let kept = [
        "accountedMemory", "connections", "epoch", "errors", "outboxBytes", "residentMemory", "revision",
        "stores", "subscriptions", "totals", "uptime",
    ]
    private static let parts = [("p50", 0.5), ("p99", 0.99)]

    private struct Samples {
        var all: [JSON] = []
        /// The histograms of the last answer, of which the next one's growth is taken.
        var histograms: JSONObject?

        mutating func keep(_ sample: JSON) {
            all.append(sample)
            if all.count > HealthMemory.most { all.removeFirst() }
        }
    }
    private let samples = Mutex(Samples())

    package init() {}

    /// Asks until the task is cancelled.
    func follow(
        every rhythm: Duration, now: @Sendable () -> Int, _ ask: () async throws(BusError) -> JSONObject
    ) async {
        while true {
            do throws(BusError) {
                let stats = try await ask()
                // Whom the bus tells no counters it may tell them later.
                if stats["totals"] != nil { add(stats, at: now()) }
            } catch {
                addGap(at: now())
            }
            guard (try? await ContinuousClock().sleep(for: rhythm)) != nil else { return }
        }
    }

    package func add(_ stats: JSONObject, at time: Int) {
        var sample: JSONObject = ["time": .int(time)]
        for key in Self.kept { sample[key] = stats[key] }
        if let bytes = stats["log"]?["bytes"] { sample["log"] = ["bytes": bytes] }
        let histograms = stats["histograms"]?.object ?? [:]
        samples.withLock { samples in
            var quantiles = JSONObject()
            for member in histograms.members where member.key != "group" {
                let grown = Self.growth(of: member.value, since: samples.histograms?[member.key])
                quantiles[member.key] = .object(Self.quantiles(of: grown))
            }
            sample["histograms"] = .object(quantiles)
            samples.histograms = histograms
            samples.keep(.object(sample))
        }
    }

    package func addGap(at time: Int) {
        samples.withLock { samples in
            samples.histograms = nil
            samples.keep(["time": .int(time), "isDown": true])
        }
    }

    /// All that is remembered, as JSON: `samples`, oldest first, and the time `now`.
    package func encoded(now: Int) -> String {
        (["now": .int(now), "samples": .array(samples.withLock(\.all))] as JSONObject).encoded
    }

    // MARK: - Histograms

    private typealias Bucket = (bound: Double, count: Int)

    /// What was measured since an earlier histogram; all of it where the daemon has begun to count at zero.
    private static func growth(of histogram: JSON, since earlier: JSON?) -> [Bucket] {
        let (now, before) = (buckets(histogram), earlier.map(buckets) ?? [])
        let known = Dictionary(before.map { ($0.bound, $0.count) }) { $1 }
        let isAnew = before.contains { bucket in
            now.first { $0.bound == bucket.bound }?.count ?? 0 < bucket.count
        }
        return isAnew ? now : now.map { ($0.bound, $0.count - (known[$0.bound] ?? 0)) }
    }

    private static func buckets(_ histogram: JSON) -> [Bucket] {
        (histogram["buckets"]?.array ?? []).compactMap { pair in
            guard let bound = pair[0]?.double, let count = pair[1]?.int else { return nil }
            return (bound, count)
        }
    }

    private static func quantiles(of buckets: [Bucket]) -> JSONObject {
        let total = Double(buckets.reduce(0) { $0 + $1.count })
        var found = JSONObject()
        guard total > 0 else { return found }
        for (name, part) in parts {
            var left = part * total
            let bucket = buckets.first { bucket in
                left -= Double(bucket.count)
                return left <= 0
            }
            found[name] = (bucket ?? buckets.last).map { .double($0.bound) }
        }
        return found
    }
}
