import BusEngine
import BusHistory
import BusLog
import BusMachine

/// Reads the past for clients, in queues of its own: one for pages of the log, one for states, which may have to be
/// made from a snapshot and many commits.
///
/// In each, the user who has had the least time comes next, so one that asks for much waits longer than one that asks for
/// little. Queries of closed connections are dropped, also in the midst of an answer.
final class PastReader: Sendable {
    private let pages: PastQueue
    private let states: PastQueue

    init(_ path: String, _ recipe: Snapshots.Recipe, _ mailbox: LogMailbox, limits: Limits) {
        pages = PastQueue("fluxbus-pages", path, recipe, mailbox, limits)
        states = PastQueue("fluxbus-states", path, recipe, mailbox, limits)
    }

    func ask(_ question: LogQuery) {
        switch question.subject {
        case .history, .entries: pages.ask(question)
        case .stores, .types, .state: states.ask(question)
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
