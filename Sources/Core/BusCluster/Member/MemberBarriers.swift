/// The barriers that a member has asked its log for: its own, at which reading has caught up, and those of clients.
struct MemberBarriers {
    /// The barrier at which everything that was in the log when reading began has arrived; 0 once it has been reached.
    private(set) var ofReading = 0
    private var last = 0
    /// Those that the log has failed to make.
    private var failed: [Int] = []
    /// The tickets of clients that wait for a barrier, with its number.
    private var waiting: [(number: Int, ticket: Int, since: Int)] = []
    /// The tickets whose barriers were reached, and that wait until what was applied before is durable.
    private var reached: [(place: Int, ticket: Int, since: Int)] = []

    /// Whether no client waits for a barrier.
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

    /// Starts reading over. The barriers of the previous reading get no answer. Returns the numbers of those that replace them,
    /// the barrier of reading first.
    mutating func beginReading() -> [Int] {
        ofReading = next()
        failed = []
        for index in waiting.indices { waiting[index].number = next() }
        return [ofReading] + waiting.map(\.number)
    }

    /// Forgets that barriers were reached, since applied entries may not be in the log. The next reading asks for them again.
    mutating func forgetReached() {
        waiting += reached.map { (0, $0.ticket, $0.since) }
        reached = []
    }

    /// Notes that the log has come to a barrier, with the replica at `place`.
    mutating func reach(_ number: Int, at place: Int) {
        if number >= ofReading { ofReading = 0 }
        reached += waiting.filter { $0.number == number }.map { (place, $0.ticket, $0.since) }
        waiting.removeAll { $0.number == number }
    }

    mutating func fail(_ number: Int) { failed.append(number) }

    /// Returns the numbers of those that replace the barriers that have failed.
    mutating func renewFailed() -> [Int] {
        if failed.isEmpty { return [] }
        defer { failed = [] }
        return failed.compactMap { renew($0) }
    }

    /// Replaces a barrier that the log failed to make. Returns the new one's number; nil if nobody waits for it.
    private mutating func renew(_ number: Int) -> Int? {
        let isOfReading = number == ofReading
        guard isOfReading || waiting.contains(where: { $0.number == number }) else { return nil }
        let renewed = next()
        if isOfReading { ofReading = renewed }
        for index in waiting.indices where waiting[index].number == number { waiting[index].number = renewed }
        return renewed
    }

    /// Removes and returns the tickets whose barriers were reached at or before `place`, up to which everything is durable.
    mutating func takeDurable(through place: Int) -> [Int] {
        defer { reached.removeAll { $0.place <= place } }
        return reached.filter { $0.place <= place }.map(\.ticket)
    }

    /// Removes and returns the tickets that have waited since `end` or longer.
    mutating func takeLate(since end: Int) -> [Int] {
        defer {
            reached.removeAll { $0.since <= end }
            waiting.removeAll { $0.since <= end }
        }
        return reached.filter { $0.since <= end }.map(\.ticket)
            + waiting.filter { $0.since <= end }.map(\.ticket)
    }
}
