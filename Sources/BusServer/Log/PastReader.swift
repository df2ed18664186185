import BusEngine
import BusHistory
import BusLog
import Dispatch

/// Reads the past for clients, on a queue of its own.
///
/// `@unchecked Sendable`: what it holds is touched on its queue only.
final class PastReader: @unchecked Sendable {
    private let queue = DispatchQueue(label: "fluxbus.past", qos: .userInitiated)
    private let path: String
    private let recipe: Snapshots.Recipe
    private let mailbox: LogMailbox
    private let limits: Limits
    private var answers: PastAnswers<LogPast>?
    private var asked = 0

    /// How long an engine of the past is kept after it was last looked at: it takes as much memory as the bus.
    private static let memory = DispatchTimeInterval.seconds(10)

    init(_ path: String, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, limits: Limits) {
        self.path = path
        self.recipe = recipe
        self.mailbox = mailbox
        self.limits = limits
    }

    func ask(_ question: LogQuestion) {
        queue.async { [self] in
            mailbox.put(.answered(question, answer(question)))
            asked += 1
            let now = asked
            queue.asyncAfter(deadline: .now() + Self.memory) { [weak self] in
                if self?.asked == now { self?.answers?.forget() }
            }
        }
    }

    private func answer(_ question: LogQuestion) -> LogAnswer {
        do throws(PastFailure) {
            if answers == nil {
                answers = PastAnswers(try LogPast(path: path), recipe.replayer, limits: limits)
            }
        } catch {
            return .refused(code: "unavailable", message: error.message, details: [:])
        }
        return answers!.answer(question)
    }

    /// Waits until nothing is under way.
    func drain() { queue.sync {} }
}
