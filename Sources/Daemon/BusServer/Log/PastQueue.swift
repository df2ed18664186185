import BusEngine
import BusHistory
import BusLog
import BusMachine
import Dispatch
import Synchronization

/// Queries about the past, answered one at a time, in the order of fairness.
///
/// `@unchecked Sendable`: `answers` is accessed on the queue only.
final class PastQueue: @unchecked Sendable {
    private struct State {
        var waiting: [LogQuery] = []
        /// How much time the connections in the queue have had, in nanoseconds.
        var used: [ConnectionID: Int] = [:]
        /// The query that is being answered, and whether its connection still waits.
        var current: LogQuery?
        var isCurrentWanted = true
        var asked = 0
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue
    private let path: String
    private let recipe: Snapshots.Recipe
    private let mailbox: LogMailbox
    private let limits: Limits
    private var answers: PastAnswers<LogPast>?

    /// How long a state machine of the past is kept after its last use: it takes as much memory as the bus.
    private static let memory = DispatchTimeInterval.seconds(10)

    init(
        _ label: String, _ path: String, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, _ limits: Limits
    ) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.path = path
        self.recipe = recipe
        self.mailbox = mailbox
        self.limits = limits
    }

    func ask(_ question: LogQuery) {
        state.withLock { state in
            state.waiting.append(question)
            // A connection without recent queries begins at the least of the others.
            let least = state.waiting.compactMap { state.used[$0.connection] }.min() ?? 0
            state.used[question.connection] = max(state.used[question.connection] ?? 0, least)
        }
        queue.async { self.answerNext() }
    }

    func forget(questionsOf connection: ConnectionID) {
        state.withLock { state in
            state.waiting.removeAll { $0.connection == connection }
            state.used[connection] = nil
            if state.current?.connection == connection { state.isCurrentWanted = false }
        }
    }

    func drain() { queue.sync {} }

    // MARK: - On the queue

    private func answerNext() {
        guard let question = takeNext() else { return }
        let began = DispatchTime.now().uptimeNanoseconds
        let answer = answer(question)
        let took = Int(DispatchTime.now().uptimeNanoseconds - began)
        let (isWanted, number) = state.withLock { state in
            state.current = nil
            state.used[question.connection]? += took
            // Times are kept for connections that come again soon; others don't matter.
            if state.waiting.isEmpty, state.used.count > 4096 { state.used = [:] }
            state.asked += 1
            return (state.isCurrentWanted, state.asked)
        }
        if isWanted { mailbox.put(.answered(question, answer)) }
        queue.asyncAfter(deadline: .now() + Self.memory) { [weak self] in
            guard let self, self.state.withLock({ $0.asked }) == number else { return }
            answers?.forget()
        }
    }

    private func takeNext() -> LogQuery? {
        state.withLock { state in
            let place = state.waiting.indices.min {
                state.used[state.waiting[$0].connection] ?? 0 < state.used[state.waiting[$1].connection] ?? 0
            }
            guard let place else { return nil }
            let question = state.waiting.remove(at: place)
            state.current = question
            state.isCurrentWanted = true
            return question
        }
    }

    private func answer(_ question: LogQuery) -> LogAnswer {
        do throws(PastFailure) {
            if answers == nil {
                let replayer = recipe.replayer.whileWanted { [weak self] in
                    self?.state.withLock { $0.isCurrentWanted } ?? false
                }
                answers = PastAnswers(try LogPast(path: path), replayer, longestLine: limits.daemon.line)
            }
        } catch {
            return .refused(code: "unavailable", message: error.message, details: [:])
        }
        return answers!.answer(question)
    }
}
