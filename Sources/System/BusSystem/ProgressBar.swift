/// How far long work is, as one line of text for people: `importing  [####......]  41%  12k/s  0:12 left`.
///
/// It knows no terminal and no clock: the programs draw it where they have one.
package struct ProgressBar: Sendable {
    private let label: String

    /// What takes less shows none, in seconds.
    package static let patience = 0.5
    /// How often it is redrawn, in seconds.
    package static let interval = 0.1

    private static let narrowest = 10
    private static let widest = 40

    package init(_ label: String) { self.label = label }

    /// The line at most `width` columns wide; empty where there is no room for more than a percentage.
    ///
    /// - Parameters:
    ///   - done: How much is done of `total`.
    ///   - elapsed: Since when, in seconds.
    package func text(done: Int, total: Int, elapsed: Double, width: Int) -> String {
        let part = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1
        let percent = "\(Int(part * 100))%"
        let share = String(repeating: " ", count: 4 - percent.count) + percent
        let rate = elapsed > 0 ? Double(max(0, done)) / elapsed : 0
        let left = part > 0 && elapsed > 0 ? elapsed / part - elapsed : nil
        let details = [
            share, rate > 0 ? Self.count(rate) + "/s" : "", left.map { Self.clock($0) + " left" } ?? "",
        ]
        // The rate goes first where there is no room, then the time left, then the bar.
        for parts in [details, [share, "", details[2]], [share, "", ""]] {
            let tail = parts.filter { !$0.isEmpty }.joined(separator: "  ")
            let room = width - label.count - tail.count - 6
            guard room >= Self.narrowest else { continue }
            let bar = min(room, Self.widest)
            let full = Int(part * Double(bar))
            return label + "  [" + String(repeating: "#", count: full)
                + String(repeating: ".", count: bar - full) + "]  " + tail
        }
        let short = "\(label) \(percent)"
        return short.count <= width ? short : percent.count <= width ? percent : ""
    }

    /// `0:05`, `12:34`, `3:04:05`, and no end of it beyond a hundred hours.
    private static func clock(_ seconds: Double) -> String {
        guard seconds < 360_000 else { return "more than 100 h" }
        let all = Int(seconds.rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes, rest) = (all / 3600, all / 60 % 60, all % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }

    /// `7`, `950`, `12k`, `3.4M`.
    private static func count(_ rate: Double) -> String {
        switch rate {
        case ..<10: "\(Int((rate * 10).rounded()) / 10).\(Int((rate * 10).rounded()) % 10)"
        case ..<1000: "\(Int(rate))"
        case ..<10_000: "\(Int(rate / 1000)).\(Int(rate / 100) % 10)k"
        case ..<1_000_000: "\(Int(rate / 1000))k"
        default: "\(Int(min(rate / 1e6, 1e9)))M"
        }
    }
}
