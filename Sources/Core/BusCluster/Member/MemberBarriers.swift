/// The barriers that a member has asked its log for: its own, behind which reading has caught up, and those of clients.
struct MemberBarriers {
    /// The barrier behind which everything that was in the log when reading began is here; 0: behind it.
    private(set) var ofReading = 0
    private var last = 0
    /// The tickets that wait for each barrier.
    private var waiting: [(number: Int, ticket: Int, since: Int)] = []
    /// Barriers that were reached, and wait until what was applied before them is durable.
    private var reached: [(place: Int, ticket: Int, since: Int)] = []

    /// Whether no client waits for one.
    var isEmpty: Bool { waiting.isEmpty && reached.isEmpty }

    private mutating func next() -> Int {
        last += 1
        return last
    }

    /// Returns the number of the barrier that a client is to wait for.
    mutating func add(_ ticket: Int, now: Int) -> Int {
        waiting.append((next(), ticket, now))
        return last
    }

    /// Starts reading over. The barriers of the previous reading get no answer; returns the numbers of the new ones that replace
    /// them.
    mutating func beginReading() -> [Int] {
        ofReading = next()
        for index in waiting.indices { waiting[index].number = next() }
        return [ofReading] + waiting.map(\.number)
    }

    /// Applied entries are no longer certain to be in the log: barriers that were reached are asked for again when reading begins.
    mutating func forgetReached() {
        waiting += reached.map { (0, $0.ticket, $0.since) }
        reached = []
    }

    /// The log has come to a barrier; `place` is where the replica stands.
    mutating func reach(_ number: Int, at place: Int) {
        if number >= ofReading { ofReading = 0 }
        reached += waiting.filter { $0.number == number }.map { (place, $0.ticket, $0.since) }
        waiting.removeAll { $0.number == number }
    }

    /// The log has not made a barrier. Returns the number of the one that takes its place; nil: nobody waits for it.
    mutating func renew(_ number: Int) -> Int? {
        let isOfReading = number == ofReading
        guard isOfReading || waiting.contains(where: { $0.number == number }) else { return nil }
        let renewed = next()
        if isOfReading { ofReading = renewed }
        for index in waiting.indices where waiting[index].number == number { waiting[index].number = renewed }
        return renewed
    }

    /// Takes those before which everything is durable, up to a place.
    mutating func takeDurable(through place: Int) -> [Int] {
        defer { reached.removeAll { $0.place <= place } }
        return reached.filter { $0.place <= place }.map(\.ticket)
    }

    /// Takes those that have waited since this time or longer.
    mutating func takeLate(since end: Int) -> [Int] {
        defer {
            reached.removeAll { $0.since <= end }
            waiting.removeAll { $0.since <= end }
        }
        return reached.filter { $0.since <= end }.map(\.ticket)
            + waiting.filter { $0.since <= end }.map(\.ticket)
    }
}
