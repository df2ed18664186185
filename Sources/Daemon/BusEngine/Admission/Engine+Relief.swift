/// Which clients give way when memory becomes short: beyond the limit, requests that would grow it are refused; but
/// before one is refused because of output that others do not read, those others are disconnected.
extension Engine {
    /// The owner of the process reports how much memory it takes beyond what it took at its start, in bytes.
    package func noteMemory(_ bytes: Int) { memory.measured = bytes }

    /// What the memory limit counts: all that clients can make the daemon hold.
    package var accountedMemory: Int { memory.accounted }

    /// Returns unused memory to the kernel, for moments when nothing else is to be done.
    package func giveBackMemory() { machine.giveBackMemory() }

    /// While memory is short, or output takes more than its share of it, or that of one user more than that user's:
    /// disconnects clients that do not read until it is enough.
    package func relieveMemory() {
        guard clock.now - relievedAt >= DaemonLimits.reliefInterval else { return }
        relievedAt = clock.now
        shares.measure(users)
        let isShort = memory.inUse > memory.limit / 8 * 7
        let isOutputLarge = connections.outputBytes > memory.limit / 8 * 3
        guard isShort || isOutputLarge || users.all.contains(where: \.holdsTooMuch) else { return }
        var surplus =
            isShort
            ? memory.inUse - memory.limit / 4 * 3
            : isOutputLarge ? connections.outputBytes - memory.limit / 4 : 0
        for connection in stuckReaders where surplus > 0 || connection.user.holdsTooMuch {
            surplus -= connection.output.outbox.count - connection.output.outbox.sharedCount
            shares.noteEnd(of: connection)
            hub.endStuckReader(connection)
        }
    }

    /// The clients that do not read: first those of users who hold more than their share, and of these the one that holds
    /// most first.
    private var stuckReaders: [Connection] {
        var stuck: [Connection] = []
        for case let connection? in connections.all
        where connection.output.outbox.count > DaemonLimits.sharedWhileWaiting && !connection.isClosing
            && connections.isStuck(connection)
        { stuck.append(connection) }
        return stuck.sorted {
            if $0.user.holdsTooMuch != $1.user.holdsTooMuch { return $0.user.holdsTooMuch }
            return $0.output.outbox.count > $1.output.outbox.count
        }
    }

    /// A connection's socket accepts nothing more, because its client has not read what it was sent.
    package func noteFull(_ id: ConnectionID) {
        connections[id].output.noteFull(at: clock.now)
    }

    /// A connection's socket accepts bytes again, whether or not any have been sent yet.
    package func noteRoom(_ id: ConnectionID) { connections[id].output.noteRoom() }

    /// Whether it has not said so since it was full.
    package func isFull(_ id: ConnectionID) -> Bool { connections[id].output.stuckSince != nil }

    /// Whether a connection's output is to be discarded, because it was closed for not reading.
    package func isDiscarding(_ id: ConnectionID) -> Bool { connections[id].output.isDiscarding }
}
