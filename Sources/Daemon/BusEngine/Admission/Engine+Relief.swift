/// Who gives way when memory becomes short: past the limit what would grow is refused; but before anybody is refused because of
/// what others do not read, those others go.
extension Engine {
    /// The owner of the process has measured what it takes beyond what it took at its start, in bytes.
    package func noteMemory(_ bytes: Int) { memory.measured = bytes }

    /// What the memory limit counts: all that clients can make the daemon hold.
    package var accountedMemory: Int { memory.accounted }

    /// Gives the kernel what can be given back, for moments when nothing else is to be done.
    package func giveBackMemory() { machine.giveBackMemory() }

    /// While memory is short, or readers hold more than their share of it: those who do not read are ended, who holds most
    /// first, until it is enough.
    package func relieveMemory() {
        guard clock.now - relievedAt >= DaemonLimits.reliefInterval else { return }
        let isShort = memory.inUse > memory.limit / 8 * 7
        guard isShort || connections.outputBytes > memory.limit / 8 * 3 else { return }
        relievedAt = clock.now
        var stuck: [Connection] = []
        for case let connection? in connections.all
        where connection.outbox.count > DaemonLimits.sharedWhileWaiting && !connection.isClosing
            && connections.isStuck(connection)
        { stuck.append(connection) }
        stuck.sort { $0.outbox.count > $1.outbox.count }
        var surplus =
            isShort ? memory.inUse - memory.limit / 4 * 3 : connections.outputBytes - memory.limit / 4
        for connection in stuck where surplus > 0 {
            surplus -= connection.outbox.count - connection.outbox.sharedCount
            hub.endStuckReader(connection)
        }
    }

    /// A connection's socket takes nothing more, as its client has not read what it was sent.
    package func noteFull(_ id: ConnectionID) {
        let connection = connections[id]
        if connection.stuckSince == nil { connection.stuckSince = clock.now }
    }

    /// A connection's socket takes something again, whether or not that has been sent yet.
    package func noteRoom(_ id: ConnectionID) { connections[id].stuckSince = nil }

    /// Whether a connection's output is to be thrown away, as it has been ended because it does not read.
    package func isDiscarding(_ id: ConnectionID) -> Bool { connections[id].isDiscarding }
}
