import BusProtocol

/// How much memory the bus takes, and who gives way when it becomes too much.
///
/// What clients make it hold is counted, from below: values take more than their encoding. So the owner of the process also
/// measures what it really takes, and the greater of the two counts. Past the limit what would grow is refused; but
/// before anybody is refused because of what others do not read, those others go.
extension Engine {
    /// The owner of the process has measured what it takes beyond what it took at its start, in bytes.
    package func noteMemory(_ bytes: Int) { measuredMemory = bytes }

    /// What the memory limit counts: all that clients can make the daemon hold.
    package var accountedMemory: Int {
        stateMemory + outputBytes + keys.count * 256 + connectionCount * 1024
            + subscriptionCount * 128 + shapeBytes + membershipCount * Limits.membershipBytes + willBytes
            + heldBytes + scanBytes + catchUpBytes
    }

    /// What the stores count as. Whoever keeps a log makes its snapshots, and looks at the past, in a second copy of them.
    var stateMemory: Int { stateBytes + stores.count * 128 }

    /// What waits for readers: what several share counts once.
    var outputBytes: Int { outboxBytes - sharedOutboxBytes + lentBytes }

    var memoryInUse: Int { max(accountedMemory, measuredMemory) }

    /// Gives the kernel what can be given back, for moments when nothing else is to be done.
    package func giveBackMemory() { stores.giveBackMemory() }

    var isOverMemory: Bool { memoryInUse > limits.memory }

    /// Whether what waits for readers takes more than its share of the memory.
    var isOutputOverShare: Bool { outputBytes > limits.memory / 4 }

    /// How much may wait for one connection: less while all of them together hold much.
    var outboxLimit: Int { isOutputOverShare ? min(limits.outbox, 64 << 10) : limits.outbox }

    // MARK: Who gives way

    /// While memory is short, or readers hold more than their share of it: those who do not read are ended, who holds most
    /// first, until it is enough.
    package func relieveMemory() {
        guard now - relievedAt >= Limits.reliefInterval else { return }
        let isShort = memoryInUse > limits.memory / 8 * 7
        guard isShort || outputBytes > limits.memory / 8 * 3 else { return }
        relievedAt = now
        var stuck: [Connection] = []
        for case let connection? in connections
        where connection.outbox.count > Limits.sharedWhileWaiting && !connection.isClosing
            && isStuck(connection)
        { stuck.append(connection) }
        stuck.sort { $0.outbox.count > $1.outbox.count }
        var surplus = isShort ? memoryInUse - limits.memory / 4 * 3 : outputBytes - limits.memory / 4
        for connection in stuck where surplus > 0 {
            surplus -= connection.outbox.count - connection.outbox.sharedCount
            endStuck(connection)
        }
    }

    /// Whether a client has not read for so long that it does not read.
    func isStuck(_ connection: Connection) -> Bool {
        connection.stuckSince.map { now - $0 >= Limits.stuckMilliseconds } ?? false
    }

    /// A connection's socket takes nothing more, as its client has not read what it was sent.
    package func noteFull(_ id: ConnectionID) {
        let connection = connection(id)
        if connection.stuckSince == nil { connection.stuckSince = now }
    }

    /// A connection's socket takes something again, whether or not that has been sent yet.
    package func noteRoom(_ id: ConnectionID) { connection(id).stuckSince = nil }

    private func endStuck(_ connection: Connection) {
        statistics.goodbyes += 1
        configuration.report(
            EngineNote(
                kind: .slowConsumer, level: .warning,
                message:
                    "A client does not read, and memory is short; its connection is ended with slow_consumer.",
                peer: connection.peer))
        sayGoodbye(
            connection, .slowConsumer,
            "This client does not read, and the bus needs the memory; connect again and read.")
        // Nobody will take it, and it is what the memory is needed for.
        connection.isDiscarding = true
    }

    /// Whether a connection's output is to be thrown away, as it has been ended because it does not read.
    package func isDiscarding(_ id: ConnectionID) -> Bool { connection(id).isDiscarding }
}
