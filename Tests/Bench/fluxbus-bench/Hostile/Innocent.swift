import BusJSON
import FluxBus
import Glibc

/// The well-behaved client: it dispatches at fixed times, whatever the bus does, and subscribes to a few stores.
///
/// Requests are sent when they are due and not when the previous one was answered, and their time runs from when they
/// were due: a bus that stalls for a second is late for a thousand requests, and not for one.
final class Innocent {
    /// Its stores' type, which no attack dispatches to.
    static let type = "calm"
    static let stores = 4
    /// Between two requests.
    private static let interval: UInt64 = 1_000_000
    /// How long it waits in the end for missing replies.
    private static let patience: UInt64 = 15_000_000_000

    private let dispatcher: InnocentLink
    private let subscriber: InnocentLink
    private let lines: [[UInt8]]

    private var tally = InnocentTally()
    /// When each request was due, in order; those answered are taken from the front.
    private var due: [UInt64] = []
    private var answered = 0
    /// Commits that were answered and not yet delivered to the subscriber: revision, and when the request was due.
    private var untold: [(revision: Int, due: UInt64)] = []
    private var told = 0
    private var subscriberRevision: Int
    private var replySilence = SilenceMeter()
    private var deliverySilence = SilenceMeter()

    /// Uses two connections without outstanding answers; the subscriber has received everything up to `revision`.
    init(dispatcher: Int32, subscriber: Int32, revision: Int) {
        self.dispatcher = InnocentLink(dispatcher)
        self.subscriber = InnocentLink(subscriber)
        subscriberRevision = revision
        lines = (0..<Self.stores).map {
            Array(#"{"op":"dispatch","store":"\#(Self.type)/s\#($0)","action":"increment"}"#.utf8) + [0x0a]
        }
    }

    /// Sends for this long, and waits for all answers.
    func run(nanoseconds length: UInt64) -> InnocentTally {
        let start = nanoseconds()
        let count = max(1, Int(length / Self.interval))
        due.reserveCapacity(count)
        let end = start + UInt64(count) * Self.interval + Self.patience
        while true {
            let now = nanoseconds()
            while due.count < count, start + UInt64(due.count) * Self.interval <= now {
                dispatcher.queue(lines[due.count % lines.count])
                due.append(start + UInt64(due.count) * Self.interval)
            }
            dispatcher.flush()
            let isDone = due.count == count && answered == count && told == untold.count
            if isDone || dispatcher.hasEnded || subscriber.hasEnded || now >= end { break }
            let next = due.count < count ? start + UInt64(due.count) * Self.interval : now + Self.interval
            InnocentLink.wait(dispatcher, subscriber, nanoseconds: next > now ? next - now : 0)
            dispatcher.takeLines { takeReply($0) }
            subscriber.takeLines { takeEvent($0) }
        }
        finish(count)
        return tally
    }

    private func takeReply(_ line: [UInt8]) {
        let now = nanoseconds()
        guard let message = try? BusMessage(parsing: line) else {
            return tally.fail("a line that is not JSON")
        }
        switch message {
        case .event(let name, let event):
            tally.fail(([name] + [event["code"]?.string].compactMap { $0 }).joined(separator: " "))
        case .reply(let reply):
            guard answered < due.count else { return tally.fail("a reply to nothing") }
            let wanted = due[answered]
            answered += 1
            tally.replyTimes.add(now - min(now, wanted), times: 1)
            replySilence.arrived(at: now, oldestDue: wanted)
            if reply["ok"] == true, let revision = reply["revision"]?.int {
                untold.append((revision, wanted))
                noteTold(at: now)
            } else {
                tally.fail(reply["error"]?["code"]?.string ?? "a reply without a code")
            }
        }
    }

    private func takeEvent(_ line: [UInt8]) {
        let now = nanoseconds()
        guard case .event(let name, let event) = try? BusMessage(parsing: line) else {
            return tally.fail("the subscriber got no event")
        }
        guard name == "change" || name == "bookmark" else {
            return tally.fail("the subscriber got \(name) \(event["code"]?.string ?? "")")
        }
        if let from = event["from"]?.int, from != subscriberRevision {
            tally.fail("a gap in the subscription")
        }
        guard event["more"] != true, let revision = event["revision"]?.int else { return }
        subscriberRevision = revision
        noteTold(at: now)
    }

    private func noteTold(at now: UInt64) {
        while told < untold.count, untold[told].revision <= subscriberRevision {
            tally.deliveryTimes.add(now - min(now, untold[told].due), times: 1)
            deliverySilence.arrived(at: now, oldestDue: untold[told].due)
            told += 1
        }
    }

    /// A reply that never came counts with the time spent waiting for it.
    private func finish(_ count: Int) {
        let now = nanoseconds()
        if dispatcher.hasEnded { tally.fail("the connection was ended", times: count - answered) }
        if subscriber.hasEnded { tally.fail("the subscriber was ended") }
        for wanted in due[answered...] {
            if !dispatcher.hasEnded { tally.fail("no answer") }
            tally.replyTimes.add(now - min(now, wanted), times: 1)
        }
        if answered < due.count { replySilence.arrived(at: now, oldestDue: due[answered]) }
        if told < untold.count {
            tally.fail("not told to the subscriber", times: untold.count - told)
            deliverySilence.arrived(at: now, oldestDue: untold[told].due)
        }
        tally.requests = count
        tally.silence = replySilence.longest
        tally.deliverySilence = deliverySilence.longest
    }
}

/// Measures how long nothing came while something was due.
package struct SilenceMeter {
    private var last: UInt64 = 0
    package private(set) var longest: UInt64 = 0

    package init() {}

    /// Something came; the oldest awaited item had been due since `oldestDue`.
    package mutating func arrived(at now: UInt64, oldestDue: UInt64) {
        let since = max(last, oldestDue)
        if now > since { longest = max(longest, now - since) }
        last = now
    }
}

/// The results of the innocent client's requests.
struct InnocentTally: @unchecked Sendable {
    // Passed from the thread that filled it to the one that reads it, never used by both: so
    // the histograms may be classes.
    let replyTimes = Histogram()
    let deliveryTimes = Histogram()
    var requests = 0
    /// The longest time without a reply while one was due, in nanoseconds…
    var silence: UInt64 = 0
    /// …and without an event for the subscriber while one was due.
    var deliverySilence: UInt64 = 0
    /// How often each failure happened.
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
