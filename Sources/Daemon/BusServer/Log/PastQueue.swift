import BusEngine
import BusHistory
import BusLog
import BusMachine

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
    private let path: String
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
            turns.add(question)
            if isRunning { return lock.signal() }
            isRunning = startThread(named: name, niceness: Self.niceness) { [self] in work() }
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
            let began = MonotonicClock.nanoseconds()
            let answer = answer(one) { MonotonicClock.nanoseconds() - began < Self.slice }
            let took = MonotonicClock.nanoseconds() - began
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
            let end = MonotonicClock.read() + Self.memory
            while turns.isEmpty, !isEnding, MonotonicClock.read() < end {
                lock.wait(milliseconds: max(1, end - MonotonicClock.read()))
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
        return answers!.answer(one.query, one.progress, hasTime: hasTime)
    }

    private var isCurrentStillWanted: Bool {
        lock.acquire()
        defer { lock.release() }
        return isCurrentWanted
    }
}
