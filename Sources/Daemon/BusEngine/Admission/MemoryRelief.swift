/// Which clients give way when memory becomes short: beyond the limit, requests that would grow it are refused; but
/// before one is refused because of output that others do not read, those others are disconnected.
final class MemoryRelief {
    private let clock: TurnClock
    private let connections: Connections
    private let hub: SubscriptionHub
    private let memory: MemoryMeter
    private let users: Users
    private let shares: FairShares
    /// When readers were last disconnected because memory was short.
    @exclusivity(unchecked) private var relievedAt = 0

    init(
        _ clock: TurnClock, _ connections: Connections, _ hub: SubscriptionHub, _ memory: MemoryMeter,
        _ users: Users, _ shares: FairShares
    ) {
        self.clock = clock
        self.connections = connections
        self.hub = hub
        self.memory = memory
        self.users = users
        self.shares = shares
    }

    /// While memory is short, or output takes more than its share of it, or that of one user more than that user's:
    /// disconnects clients that do not read until it is enough.
    func relieve() {
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
}
