import BusEngine
import BusHistory
import BusLog
import BusMachine

/// Queries about the past, answered one at a time, in the order of fairness: users first, and then connections.
///
/// They are answered by a thread that comes after others for the processor, so that whoever scans the history does not hold
/// up the bus. It ends when nothing has been asked for a while, and with it what it keeps.
///
/// `@unchecked Sendable`: `answers` is accessed by the thread only, everything else under `lock`.
final class PastQueue: @unchecked Sendable {
    private let lock = ThreadLock()
    private var waiting: [LogQuery] = []
    /// How much time users, and the connections in the queue, have had, in nanoseconds.
    private var usedByUser: [Int: Int] = [:]
    private var used: [ConnectionID: Int] = [:]
    /// The query that is being answered, and whether its connection still waits.
    private var current: LogQuery?
    private var isCurrentWanted = true
    private var isRunning = false
    private var isEnding = false

    private let name: String
    private let path: String
    private let recipe: Snapshots.Recipe
    private let mailbox: LogMailbox
    private let limits: Limits
    private var answers: PastAnswers<LogPast>?

    /// How long a state machine of the past is kept after its last use, in milliseconds: it takes as much memory as the bus.
    private static let memory = 10_000
    /// How much nicer than others its thread is: beside one that is busy it has a tenth of a processor.
    private static let niceness: Int32 = 10
    /// Times of so many connections and users are kept for those that come again soon.
    private static let timesKept = 4096

    init(
        _ name: String, _ path: String, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, _ limits: Limits
    ) {
        self.name = name
        self.path = path
        self.recipe = recipe
        self.mailbox = mailbox
        self.limits = limits
    }

    func ask(_ question: LogQuery) {
        lock.locked {
            waiting.append(question)
            // Who has not asked lately begins at the least of the others.
            let least = waiting.compactMap { used[$0.connection] }.min() ?? 0
            used[question.connection] = max(used[question.connection] ?? 0, least)
            let leastOfUsers = waiting.compactMap { usedByUser[$0.user] }.min() ?? 0
            usedByUser[question.user] = max(usedByUser[question.user] ?? 0, leastOfUsers)
            if isRunning { return lock.signal() }
            isRunning = true
            startThread(named: name, niceness: Self.niceness) { [self] in work() }
        }
    }

    func forget(questionsOf connection: ConnectionID) {
        lock.locked {
            waiting.removeAll { $0.connection == connection }
            used[connection] = nil
            if current?.connection == connection { isCurrentWanted = false }
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
        while let question = takeNext() {
            let began = MonotonicClock.nanoseconds()
            let answer = answer(question)
            let took = MonotonicClock.nanoseconds() - began
            var isWanted = false
            lock.locked {
                current = nil
                used[question.connection]? += took
                usedByUser[question.user, default: 0] += took
                if waiting.isEmpty, used.count + usedByUser.count > Self.timesKept {
                    (used, usedByUser) = ([:], [:])
                }
                isWanted = isCurrentWanted
            }
            if isWanted { mailbox.put(.answered(question, answer)) }
        }
    }

    /// The next one; nil when the thread is to end, which is when nothing has come for some time.
    private func takeNext() -> LogQuery? {
        var question: LogQuery?
        lock.locked {
            let end = MonotonicClock.read() + Self.memory
            while waiting.isEmpty, !isEnding, MonotonicClock.read() < end {
                lock.wait(milliseconds: max(1, end - MonotonicClock.read()))
            }
            let place = waiting.indices.min { time(of: waiting[$0]) < time(of: waiting[$1]) }
            if let place {
                question = waiting.remove(at: place)
                current = question
                isCurrentWanted = true
            } else {
                answers = nil
                isRunning = false
                lock.signal()
            }
        }
        return question
    }

    private func time(of question: LogQuery) -> (Int, Int) {
        (usedByUser[question.user] ?? 0, used[question.connection] ?? 0)
    }

    private func answer(_ question: LogQuery) -> LogAnswer {
        do throws(PastFailure) {
            if answers == nil {
                let replayer = recipe.replayer.whileWanted { [weak self] in
                    self?.isCurrentStillWanted ?? false
                }
                answers = PastAnswers(try LogPast(path: path), replayer, longestLine: limits.daemon.line)
            }
        } catch {
            return .refused(code: "unavailable", message: error.message, details: [:])
        }
        return answers!.answer(question)
    }

    private var isCurrentStillWanted: Bool {
        lock.acquire()
        defer { lock.release() }
        return isCurrentWanted
    }
}
