import BusJSON

/// How a daemon stands to the bus that it shares with others, as `cluster` of its replies tells it.
struct ClusterStanding {
    let bus: String
    let member: String
    private let isAttached: Bool
    private let since: Int?
    private let reason: String?
    /// Since when and why its copy can't be written.
    private let suspension: (since: Int?, reason: String?)?
    private let now: Int

    /// - Parameter now: In milliseconds since 1970.
    init(_ cluster: JSON, now: Int) {
        bus = cluster["bus"]?.string ?? ""
        member = cluster["member"]?.string ?? ""
        isAttached = cluster["attached"]?.bool ?? false
        since = ClockText.milliseconds(cluster["since"])
        reason = cluster["reason"]?.string
        suspension = cluster["suspended"].map { (ClockText.milliseconds($0["since"]), $0["reason"]?.string) }
        self.now = now
    }

    /// `attached to home as kitchen`, `detached since 14:03:07 (No etcd answers)`
    var text: String { trouble ?? "attached to \(bus) as \(member)" }

    /// `bus home, kitchen attached since 14:03:07`, `bus home, kitchen detached since 14:03:07 (No etcd answers)`
    var headline: String {
        "bus \(bus), \(member) " + (trouble ?? "attached\(text(since: since))")
    }

    /// Why nothing is committed there; nil where it is. `suspended since 14:03:07 (The log bus.sqlite can't grow)`
    var trouble: String? {
        if let suspension {
            return "suspended\(text(since: suspension.since))\(Self.text(reason: suspension.reason))"
        }
        return isAttached ? nil : "detached\(text(since: since))\(Self.text(reason: reason))"
    }

    /// A day ago or longer, the time of day alone would say too little.
    private func text(since: Int?) -> String {
        guard let since else { return "" }
        let isOfToday = (0..<86_400_000).contains(now - since)
        let time = ClockText.second(milliseconds: since)
        return " since \(isOfToday ? time : "\(ClockText.date(milliseconds: since)) \(time)")"
    }

    private static func text(reason: String?) -> String {
        guard let reason, !reason.isEmpty else { return "" }
        return " (\(reason.hasSuffix(".") ? String(reason.dropLast()) : reason))"
    }

    /// How long ago the bus says something was: `now`, `3s ago`, `2h ago`; `3s ahead` by a clock that is ahead of ours.
    static func age(of seconds: JSON?, now: Int) -> String {
        guard let time = ClockText.milliseconds(seconds) else { return "" }
        let length = abs(now - time) / 1000
        let text =
            switch length {
            case 0: "now"
            case ..<60: "\(length)s"
            case ..<3600: "\(length / 60)m"
            case ..<86_400: "\(length / 3600)h"
            default: "\(length / 86_400)d"
            }
        return length == 0 ? text : text + (time > now ? " ahead" : " ago")
    }
}
