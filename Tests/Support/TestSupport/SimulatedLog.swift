import BusCluster

/// A member's end of a `SharedLog`, with the delays and losses of a connection. It does what it does in `step`.
package final class SimulatedLog: OrderedLog {
    private let shared: SharedLog
    private var generator: SeededGenerator
    private var inbox: [OrderedLogEvent] = []
    /// Answers to calls, when they are due.
    private var answers: [(due: Int, event: OrderedLogEvent)] = []

    private var cursor: Int?
    private var expectedCluster: String?
    private var barriers: [(number: Int, target: Int?)] = []
    private var member: String?
    private var incarnation: Int?
    private var joining: (member: String, report: [UInt8])?
    private var pendingReport: [UInt8]?
    private var isLeaving = false
    private var isClosed = false
    private var isAttached = false
    private var rollbacksSeen: Int
    /// The end of the member through which it reads as long as that one is there.
    package var relay: () -> SimulatedLog? = { nil }
    /// Whether it took its last entries from the log itself, not from another member.
    package private(set) var readsItself = false
    /// Until when the log is out of reach.
    package var cutUntil = 0
    private var frozenUntil = 0
    /// What it had read when it was frozen.
    private var passedOn: ArraySlice<OrderedEntry> = []
    private var readsThroughFrozen = false
    /// Whether, since reading began, the log has proved to be the one that was read before.
    private var isFound = false

    private static let unreachable = OrderedLogFailure(.unreachable, "No server answers.")

    package init(_ shared: SharedLog, seed: UInt64) {
        self.shared = shared
        generator = SeededGenerator(seed: seed)
        rollbacksSeen = shared.rollbacks
    }

    private var isReachable: Bool { !isClosed && cutUntil <= shared.now }
    private func mishap(_ count: Int) -> Bool { shared.isFaulty && generator.oneIn(count) }
    private func delay(_ most: Int = 60) -> Int {
        if shared.isImmediate { return shared.now }
        return shared.now + Int.random(in: 0...(shared.isFaulty ? most : 10), using: &generator)
    }

    /// Freezes its process until a time. Meanwhile others get through it what it has read so far, whatever becomes of the log.
    package func freeze(until time: Int) {
        frozenUntil = time
        passedOn = shared.entries.prefix(shared.firstEntry(after: cursor ?? 0))
    }

    package var isFrozen: Bool { frozenUntil > shared.now }
    /// Whether others can read through it.
    package var delivers: Bool { isFrozen || isCurrent }

    /// Whether it reaches the log as it is now: a barrier would be answered.
    package var isCurrent: Bool {
        isReachable && isAttached && !isFrozen && rollbacksSeen == shared.rollbacks
    }

    // MARK: - Calls

    package func read(behind place: Int, of cluster: String?) {
        inbox.removeAll {
            switch $0 {
            case .entry, .barrier, .barrierFailed, .trimmedAway, .replaced: true
            default: false
            }
        }
        barriers = []
        (cursor, expectedCluster, isFound) = (place, cluster, false)
        if readsThroughFrozen { inbox.append(.reads(from: nil, because: nil)) }
        readsThroughFrozen = false
    }

    package func join(as member: String, report: [UInt8]) {
        self.member = member
        precondition(joining == nil, "A member joins once.")
        joining = (member, report)
    }

    package func report(_ report: [UInt8]) { pendingReport = report }
    package func leave() { isLeaving = true }
    package func pass() { answers.append((delay(), .passed(lease: incarnation))) }

    package func resume(as member: String, incarnation: Int, lease: Int) {
        (self.member, self.incarnation) = (member, incarnation)
    }

    package func end(_ member: String, incarnation: Int) {
        if isReachable, !mishap(4) { shared.end(member, incarnation: incarnation) }
    }

    package func propose(_ name: ProposalName, _ content: [UInt8]) {
        let unknown = ProposalOutcome.unknown(OrderedLogFailure(.timedOut, "No server has answered in time."))
        let outcome: ProposalOutcome
        if !isReachable {
            outcome = .notProposed(Self.unreachable)
        } else if mishap(12) {
            outcome = unknown
        } else if mishap(12) {
            _ = shared.put(name, content)
            outcome = unknown
        } else if mishap(12) {
            shared.put(name, content, at: delay(900), isFenced: true)
            outcome = unknown
        } else if mishap(40) {
            outcome = .notProposed(Self.unreachable)
        } else {
            outcome = shared.put(name, content)
            if mishap(25) { shared.put(name, content, at: delay(3000), isFenced: false) }
        }
        answers.append((delay(), .proposed(name, outcome)))
    }

    package func barrier(_ number: Int) { barriers.append((number, nil)) }

    package func listMembers() {
        answers.append((delay(), .members(shared.members)))
    }

    package func trim(through place: Int) {
        guard isReachable else { return answers.append((delay(), .trimFailed(Self.unreachable))) }
        shared.trim(through: place)
        answers.append((delay(), .trimmed(through: place)))
    }

    package func take() -> [OrderedLogEvent] {
        defer { inbox = [] }
        return inbox
    }

    package func close() { isClosed = true }

    // MARK: - Steps

    package func step() {
        guard !isClosed, !isFrozen else { return }
        if rollbacksSeen != shared.rollbacks {
            rollbacksSeen = shared.rollbacks
            cutUntil = max(cutUntil, shared.now + 1)
        }
        guard isReachable else { return detach() }
        if !isAttached {
            isAttached = true
            inbox.append(.attached(cluster: shared.cluster))
        }
        for answer in answers where answer.due <= shared.now { inbox.append(answer.event) }
        answers.removeAll { $0.due <= shared.now }
        stepMembership()
        stepReading()
    }

    private func detach() {
        if isAttached || inbox.isEmpty { inbox.append(.detached(Self.unreachable)) }
        (isAttached, readsItself) = (false, false)
        for barrier in barriers { inbox.append(.barrierFailed(barrier.number, Self.unreachable)) }
        barriers = []
    }

    private func stepMembership() {
        if let (member, report) = joining, !mishap(3) {
            joining = nil
            let event = shared.join(member, report)
            if case .joined(let place) = event { incarnation = place }
            inbox.append(event)
        }
        guard let member, let incarnation else { return }
        if isLeaving {
            isLeaving = false
            shared.end(member, incarnation: incarnation)
        }
        if !shared.isPresent(member, incarnation) {
            self.incarnation = nil
            isLeaving = false
            // Where it is not told, `ended` comes in order; but not from a log that has gone back.
            if shared.rollbacks > 0 || !mishap(3) { inbox.append(.leaseLost(incarnation: incarnation)) }
            return
        }
        shared.renew(member)
        if let report = pendingReport {
            shared.report(member, report)
            pendingReport = nil
        }
    }

    /// How far another one has read, where this one reads through it.
    private var relayed: Int? {
        guard let other = relay(), other !== self, other.isCurrent, other.expectedCluster == shared.cluster,
            !mishap(6)
        else { return nil }
        return other.cursor
    }

    /// What a frozen one passes on, where this one reads through it. That one knows nothing of the log as it is now: of no
    /// barrier, and of no end of what it has read.
    private var passedByFrozen: ArraySlice<OrderedEntry>? {
        guard isFound, let other = relay(), other.isFrozen, other.expectedCluster == shared.cluster,
            !mishap(6)
        else { return nil }
        return other.passedOn
    }

    private func stepReading() {
        readsItself = false
        guard let place = cursor else { return }
        let passed = passedByFrozen
        if (passed != nil) != readsThroughFrozen {
            readsThroughFrozen.toggle()
            inbox.append(.reads(from: passed.map { _ in "the frozen one" }, because: nil))
        }
        if let passed { return take(passed.drop { $0.place <= place }, atMost: room) }
        if place < shared.trimmedThrough {
            cursor = nil
            return inbox.append(.trimmedAway(through: shared.trimmedThrough))
        }
        if let expectedCluster, expectedCluster != shared.cluster || place > shared.lastPlace {
            cursor = nil
            return inbox.append(.replaced(cluster: shared.cluster))
        }
        expectedCluster = expectedCluster ?? shared.cluster
        isFound = true
        for index in barriers.indices where barriers[index].target == nil {
            barriers[index].target = shared.lastPlace
        }
        let most = room
        let end = relayed
        readsItself = end == nil
        take(shared.entries[shared.firstEntry(after: place)...], atMost: most, through: end ?? .max)
        while let first = barriers.first, first.target ?? .max <= cursor ?? 0 {
            inbox.append(.barrier(first.number))
            barriers.removeFirst()
        }
    }

    /// How many entries come with this step.
    private var room: Int {
        shared.isFaulty ? [0, 1, 1, 2, 8].randomElement(using: &generator)! : 100
    }

    private func take(_ entries: ArraySlice<OrderedEntry>, atMost count: Int, through end: Int = .max) {
        for entry in entries.prefix(count) where entry.place <= end {
            inbox.append(.entry(entry))
            cursor = entry.place
        }
    }
}
