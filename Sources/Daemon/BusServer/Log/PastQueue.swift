import BusEngine
import BusHistory
import BusLog
import BusMachine
import BusSystem

/// Queries about the past, answered in slices, in the order of fairness: users first, and then connections.
///
/// They are answered by a thread that comes after others for the processor, so that whoever scans the history does not hold
/// up the bus. It ends when nothing has been asked for a while, and with it what it keeps.
///
/// `@unchecked Sendable`: `answers` is accessed by the thread only, everything else under `lock`.
final class PastQueue: @unchecked Sendable {
    private let lock = ThreadLock()
    private var turns = PastTurns()
    /// The connection whose query is being answered, and whether it still waits.
    private var current: ConnectionID?
    private var isCurrentWanted = true
    private var isRunning = false
    private var isEnding = false

    private let name: String
    private let writer: LogWriter
    private let recipe: Snapshots.Recipe
    private let mailbox: LogMailbox
    private let limits: Limits
    private var answers: PastAnswers<LogPast>?

    /// How long a state machine of the past is kept after its last use, in milliseconds: it takes as much memory as the bus.
    private static let memory = 10_000
    /// How much nicer than others its thread is: beside one that is busy it has a tenth of a processor.
    private static let niceness: Int32 = 10
    /// How long a query is worked on before it is another's turn, in nanoseconds.
    private static let slice = 2_000_000

    init(
        _ name: String, _ writer: LogWriter, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox,
        _ limits: Limits
    ) {
        self.name = name
        self.writer = writer
        self.recipe = recipe
        self.mailbox = mailbox
        self.limits = limits
    }

    func ask(_ question: LogQuery) {
        lock.locked {
            turns.add(question)
            if isRunning { return lock.signal() }
            isRunning =
                (try? SystemThread.start(named: name, niceness: Self.niceness) { [self] in work() }) != nil
            // The next query tries again.
            if !isRunning { while let one = turns.takeNext() { refuse(one.query) } }
        }
    }

    private func refuse(_ query: LogQuery) {
        let answer = LogAnswer.refused(
            code: "unavailable", message: "The bus has no thread left to read the past; ask again later.",
            details: [:])
        mailbox.put(.answered(query, answer))
    }

    func forget(questionsOf connection: ConnectionID) {
        lock.locked {
            turns.forget(connection)
            if current == connection { isCurrentWanted = false }
        }
    }

    /// Waits until nothing is being answered, and forgets what is kept.
    func drain() {
        lock.locked {
            isEnding = true
            lock.signal()
            while isRunning { lock.wait() }
            isEnding = false
        }
    }

    // MARK: - On the thread

    private func work() {
        while let one = takeNext() {
            let began = MonotonicClock.nanoseconds
            let answer = answer(one) { MonotonicClock.nanoseconds - began < Self.slice }
            let took = MonotonicClock.nanoseconds - began
            var isWanted = false
            lock.locked {
                current = nil
                turns.charge(took, to: one.query)
                isWanted = isCurrentWanted
                if isWanted, answer == nil { turns.putBack(one) }
            }
            if isWanted, let answer { mailbox.put(.answered(one.query, answer)) }
        }
    }

    /// The next one; nil when the thread is to end, which is when nothing has come for some time.
    private func takeNext() -> PastTurns.Waiting? {
        var next: PastTurns.Waiting?
        lock.locked {
            let end = MonotonicClock.milliseconds + Self.memory
            while turns.isEmpty, !isEnding, MonotonicClock.milliseconds < end {
                lock.wait(milliseconds: max(1, end - MonotonicClock.milliseconds))
            }
            next = turns.takeNext()
            if let next {
                current = next.query.connection
                isCurrentWanted = true
            } else {
                answers = nil
                isRunning = false
                lock.signal()
            }
        }
        return next
    }

    private func answer(_ one: PastTurns.Waiting, hasTime: () -> Bool) -> LogAnswer? {
        // An open reader does not see what came into the tail since.
        if !one.hasBegun, !writer.settle() { answers = nil }
        do throws(PastFailure) {
            if answers == nil {
                let replayer = recipe.replayer.whileWanted { [weak self] in
                    self?.isCurrentStillWanted ?? false
                }
                answers = PastAnswers(
                    try writer.past(), replayer, longestLine: limits.daemon.line)
            }
        } catch {
            return .refused(code: "unavailable", message: error.message, details: [:])
        }
        return answers!.answer(one.query, one.progress, hasTime: hasTime)
    }

    private var isCurrentStillWanted: Bool {
        lock.acquire()
        defer { lock.release() }
        return isCurrentWanted
    }
}

/// Reads the past for clients, in queues of its own: one for pages of the log, one for states, which may have to be
/// made from a snapshot and many commits.
///
/// In each, the user who has had the least time comes next, so one that asks for much waits longer than one that asks for
/// little. Queries of closed connections are dropped, also in the midst of an answer.
final class PastReader: Sendable {
    private let pages: PastQueue
    private let states: PastQueue

    init(_ writer: LogWriter, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, limits: Limits) {
        pages = PastQueue("fluxbus-pages", writer, recipe, mailbox, limits)
        states = PastQueue("fluxbus-states", writer, recipe, mailbox, limits)
    }

    func ask(_ question: LogQuery) {
        switch question.subject {
        case .history, .entries: pages.ask(question)
        case .stores, .types, .state, .blame, .samples: states.ask(question)
        // The log's own, which the coordinator knows.
        case .backup, .compact: preconditionFailure("No question about the past.")
        }
    }

    /// Drops the queries of a connection that no longer waits.
    func forget(questionsOf connection: ConnectionID) {
        pages.forget(questionsOf: connection)
        states.forget(questionsOf: connection)
    }

    /// Waits until no query is being answered.
    func drain() {
        pages.drain()
        states.drain()
    }
}

/// Whose query about the past is answered next: the user's who has had the least time, and of that user's connections the one
/// that has. A query that takes several slices waits for its next one like any other.
package struct PastTurns {
    /// A query that waits, and how far it has come.
    package struct Waiting {
        package let query: LogQuery
        package let progress: PastProgress
        /// Whether it was worked on already.
        package fileprivate(set) var hasBegun = false
    }

    private var waiting: [Waiting] = []
    /// How much time users, and the connections in the queue, have had, in nanoseconds.
    private var usedByUser: [Int: Int] = [:]
    private var used: [ConnectionID: Int] = [:]
    /// What the last slice of each connection took: next is the one that would be done first. By what they have had alone, one
    /// that asks for little would come after all others as soon as it had a little more.
    private var expected: [ConnectionID: Int] = [:]

    /// Times of so many connections and users are kept for those that come again soon.
    private static let timesKept = 4096

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds a query.
    package mutating func add(_ query: LogQuery) {
        // Who has not asked lately begins at the least of the others.
        let least = waiting.compactMap { used[$0.query.connection] }.min() ?? 0
        used[query.connection] = max(used[query.connection] ?? 0, least)
        let leastOfUsers = waiting.compactMap { usedByUser[$0.query.user] }.min() ?? 0
        usedByUser[query.user] = max(usedByUser[query.user] ?? 0, leastOfUsers)
        waiting.append(Waiting(query: query, progress: PastProgress()))
    }

    /// A query was worked on for so long, and is not answered yet.
    package mutating func putBack(_ one: Waiting) {
        var one = one
        one.hasBegun = true
        waiting.append(one)
    }

    /// A query had so many nanoseconds.
    package mutating func charge(_ time: Int, to query: LogQuery) {
        used[query.connection]? += time
        expected[query.connection] = time
        usedByUser[query.user, default: 0] += time
        if waiting.isEmpty, used.count + usedByUser.count > Self.timesKept {
            (used, usedByUser, expected) = ([:], [:], [:])
        }
    }

    package mutating func forget(_ connection: ConnectionID) {
        waiting.removeAll { $0.query.connection == connection }
        used[connection] = nil
        expected[connection] = nil
    }

    /// Takes the next one.
    package mutating func takeNext() -> Waiting? {
        let index = waiting.indices.min { time(of: waiting[$0]) < time(of: waiting[$1]) }
        return index.map { waiting.remove(at: $0) }
    }

    private func time(of one: Waiting) -> (Int, Int) {
        let work = expected[one.query.connection] ?? 0
        return ((usedByUser[one.query.user] ?? 0) + work, (used[one.query.connection] ?? 0) + work)
    }
}
