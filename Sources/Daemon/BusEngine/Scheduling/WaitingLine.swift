import BusCommands

/// Connections that wait for their turn: a queue, first in, first out.
struct WaitingLine {
    private var waiting: ContiguousArray<Connection?> = []
    private var head = 0

    var isEmpty: Bool { head == waiting.count }
    var count: Int { waiting.count - head }

    mutating func append(_ connection: Connection) { waiting.append(connection) }

    /// Returns one that was taken and is not done yet to the front.
    mutating func putBack(_ connection: Connection) {
        if head > 0 {
            head -= 1
            waiting[head] = connection
        } else {
            waiting.insert(connection, at: 0)
        }
    }

    mutating func takeFirst() -> Connection? {
        guard head < waiting.count else { return nil }
        let first = waiting[head]
        waiting[head] = nil
        head += 1
        if head == waiting.count || head > 1024 && head * 2 > waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
        return first
    }
}

/// Connections of one user that share one turn, and wait for it in a line: those that have only just come, those whose peers
/// are gone, and those that wait for nothing but changes. However many come and go, they weigh no more than all that stay, and each
/// of them no more than one that stays; and one that comes for a single request does not wait for all that stay to have had as
/// much. However many subscribers are behind, a request does not wait for each of them to have had as much, either.
final class SharedTurn {
    @exclusivity(unchecked) var line = WaitingLine()
    @exclusivity(unchecked) var isQueued = false
    @exclusivity(unchecked) var share = Share(expecting: 0)
    /// What other users take the next one to ask for at least: of one that has just come nothing is known.
    let assumed: Int

    init(assuming work: Int = 0) { assumed = work }
}

/// An element that waits for its turn.
enum Errand {
    /// A connection that has lines to be executed, events to be delivered, or a read that continues.
    case serve(Connection)
    /// The next of a user's connections that share a turn.
    case serveNext(SharedTurn, of: User)
    /// A connection that is gone: its will, and the drops of its stores.
    case end(Connection)
    /// Subscriber groups without subscribers leave their stores.
    case sweep
    /// Timers that are due.
    case timers
}
