/// Connections that wait for their turn, who came first first.
struct WaitingLine {
    private var waiting: ContiguousArray<Connection?> = []
    private var head = 0

    var isEmpty: Bool { head == waiting.count }

    mutating func append(_ connection: Connection) { waiting.append(connection) }

    /// One that was taken and is not done yet comes first again.
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

/// Something that waits for its turn.
enum Errand {
    /// A connection that has lines to be carried out, something to be told, or a read that goes on.
    case serve(Connection)
    /// The next of those whose peers are gone, and that have sent something before.
    case serveLost
    /// A connection that is gone: its will, and the drops of its stores.
    case end(Connection)
    /// Subscriber groups that nobody is in any more leave the stores they were in.
    case sweep
}
