import BusSystem

/// Draws how far long work is, on the terminal of messages, as soon as it takes long; nothing elsewhere. What is written
/// meanwhile goes above it, and at the end it is gone.
package final class ProgressMeter {
    private let bar: ProgressBar
    private let total: Int
    private let channel: Channel
    /// What shares the terminal with it is written before it is drawn.
    private let output: Channel
    private let clock: () -> Double
    private let start: Double
    private var next: Double
    private var isDrawn = false

    /// - Parameter clock: In seconds; only differences count.
    package init(
        _ label: String, total: Int, on channel: Channel, beside output: Channel,
        clock: @escaping () -> Double = ProgressMeter.uptime
    ) {
        bar = ProgressBar(label)
        (self.total, self.channel, self.output, self.clock) = (total, channel, output, clock)
        start = clock()
        next = start + ProgressBar.patience
    }

    package static func uptime() -> Double { (ContinuousClock.now - origin).seconds }

    private static let origin = ContinuousClock.now

    package func reached(_ done: Int) throws {
        guard channel.isTerminal else { return }
        let now = clock()
        guard now >= next else { return }
        next = now + ProgressBar.interval
        erase()
        if output.isTerminal { try output.flush() }
        // The last column stays free: behind it some terminals begin a new line.
        try channel.write(
            bar.text(done: done, total: total, elapsed: now - start, width: (channel.width ?? 80) - 1))
        try channel.flush()
        isDrawn = true
    }

    /// Takes it away, until it is drawn again.
    package func erase() {
        guard isDrawn else { return }
        isDrawn = false
        try? channel.write("\r\u{1b}[K")
        try? channel.flush()
    }
}
