import BusSystem
import Dispatch
import Glibc

/// Deadlines of connections, in monotonic milliseconds.
///
/// Every kind of deadline is equally long for all connections, so one queue per kind is always in order. Entries of
/// connections that are gone, or met their deadline, stay until they come to the front.
struct Deadlines {
    struct Entry {
        let token: UInt64
        let due: Int
    }

    private let timeouts: Timeouts
    private var hellos = EntryQueue()
    private var goodbyes = EntryQueue()
    /// When accepting is retried after a lack of descriptors.
    var acceptAgain: Int?

    init(_ timeouts: Timeouts) { self.timeouts = timeouts }

    /// Until when a client that connects now has to send its hello.
    func helloDue(now: Int) -> Int { now + timeouts.hello }

    mutating func addHello(_ token: UInt64, now: Int) {
        hellos.append(Entry(token: token, due: helloDue(now: now)))
    }

    mutating func addGoodbye(_ token: UInt64, now: Int) {
        goodbyes.append(Entry(token: token, due: now + timeouts.goodbye))
    }

    /// The next time something is due; removes entries for which the closures return false.
    mutating func next(hello: (UInt64) -> Bool, goodbye: (UInt64) -> Bool) -> Int? {
        var times: [Int] = []
        if let due = hellos.first(where: hello)?.due { times.append(due) }
        if let due = goodbyes.first(where: goodbye)?.due { times.append(due) }
        if let acceptAgain { times.append(acceptAgain) }
        return times.min()
    }

    mutating func takeDueHello(now: Int) -> UInt64? { hellos.takeDue(now: now) }
    mutating func takeDueGoodbye(now: Int) -> UInt64? { goodbyes.takeDue(now: now) }
}

/// Entries in the order of their time; removed from the front at constant cost.
private struct EntryQueue {
    private var entries: [Deadlines.Entry] = []
    private var head = 0

    mutating func append(_ entry: Deadlines.Entry) { entries.append(entry) }

    /// The first entry that still matters; those before it are removed.
    mutating func first(where matters: (UInt64) -> Bool) -> Deadlines.Entry? {
        while head < entries.count {
            if matters(entries[head].token) { return entries[head] }
            removeFirst()
        }
        return nil
    }

    mutating func takeDue(now: Int) -> UInt64? {
        guard head < entries.count, entries[head].due <= now else { return nil }
        defer { removeFirst() }
        return entries[head].token
    }

    private mutating func removeFirst() {
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: entries.capacity <= 1024)
            head = 0
        } else if head >= 1024, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}

/// How long clients are given before the daemon ends their connections, in milliseconds.
package struct Timeouts: Sendable {
    /// For a TCP client to send its hello: every user of this machine can connect, so a silent client must
    /// not hold a connection for ever.
    package var hello = 10_000
    /// For a client to read a goodbye and the output before it.
    package var goodbye = 5_000

    package init() {}
}

/// One timer for all deadlines. It is armed only when something is due at some time, so an idle daemon sleeps.
///
/// A deadline that moves back leaves the timer alone: firing early once is cheaper than setting it on every turn.
final class DeadlineTimer {
    private let source: any DispatchSourceTimer
    /// In monotonic milliseconds; nil while nothing is due.
    private var armedFor: Int?

    init(queue: DispatchQueue, _ fired: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        // Fires once at the start: Dispatch opens its timer descriptor now, and not when there may be none left.
        source.schedule(deadline: .now())
        source.setEventHandler { [weak self] in
            self?.armedFor = nil
            fired()
        }
        source.activate()
    }

    func arm(for due: Int?) {
        guard let due, due < armedFor ?? .max else { return }
        armedFor = due
        let wait = max(0, due - MonotonicClock.milliseconds)
        // One millisecond late rather than a hair early, when nothing would be due yet.
        source.schedule(deadline: .now() + .milliseconds(wait + 1), leeway: .milliseconds(wait / 20))
    }

    func cancel() { source.cancel() }
}

/// Wakes the loop at a time of day: when the next timer of the bus is due.
///
/// It goes by the clock that commits are dated by. So a clock that is set ahead, or a machine that was suspended, fires at
/// once what has become due, and a clock that is set back fires nothing early.
final class WallTimer {
    private let source: any DispatchSourceTimer
    /// In milliseconds since 1970; nil while nothing is due, and nothing wakes the loop.
    private(set) var armedFor: Int?

    init(queue: DispatchQueue, _ fired: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(wallDeadline: .distantFuture)
        source.setEventHandler { [weak self] in
            self?.armedFor = nil
            fired()
        }
        source.activate()
    }

    /// Unlike a deadline, which is looked at whenever there is something to do, a timer that was taken away wakes nobody.
    func arm(for due: Int?) {
        guard due != armedFor else { return }
        armedFor = due
        guard let due else { return source.schedule(wallDeadline: .distantFuture) }
        let time = timespec(tv_sec: due / 1000, tv_nsec: due % 1000 * 1_000_000)
        source.schedule(wallDeadline: DispatchWallTime(timespec: time), leeway: .milliseconds(1))
    }

    func cancel() { source.cancel() }
}
