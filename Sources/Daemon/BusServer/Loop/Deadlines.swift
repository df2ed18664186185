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

    /// Returns when it is due.
    mutating func addGoodbye(_ token: UInt64, now: Int) -> Int {
        let entry = Entry(token: token, due: now + timeouts.goodbye)
        goodbyes.append(entry)
        return entry.due
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
