import BusEngine
import BusHistory
import BusLog
import BusMachine
import Dispatch
import Synchronization

/// Reads the past for clients, on queues of its own: one for pages of the log, one for states, which may have to be made from
/// a snapshot and many commits.
///
/// On each, whoever has had the least time comes next, so one who asks for much waits longer than one who asks for little. Who
/// is gone is forgotten, also in the midst of an answer.
final class PastReader: Sendable {
    private let pages: PastQueue
    private let states: PastQueue

    init(_ path: String, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, limits: Limits) {
        pages = PastQueue("fluxbus.past.pages", path, recipe, mailbox, limits)
        states = PastQueue("fluxbus.past.states", path, recipe, mailbox, limits)
    }

    func ask(_ question: LogQuery) {
        switch question.subject {
        case .history, .entries: pages.ask(question)
        case .stores, .types, .state: states.ask(question)
        }
    }

    /// Nobody waits for what a connection asked any more.
    func forget(questionsOf connection: ConnectionID) {
        pages.forget(questionsOf: connection)
        states.forget(questionsOf: connection)
    }

    /// Waits until nothing is under way.
    func drain() {
        pages.drain()
        states.drain()
    }
}
