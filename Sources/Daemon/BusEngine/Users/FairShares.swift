import BusMachine
import BusProtocol

/// What all users of the daemon share, and what one of them may have of it.
///
/// A user may have half of what the others have left, and no more than `limits: user:` says. So whoever takes all it can
/// leaves as much for the next one, who leaves half of that. Root and the daemon's own user may have all there is.
final class FairShares {
    private let machine: StateMachine
    private let connections: Connections
    private let hub: SubscriptionHub
    private let memory: MemoryMeter

    init(
        _ machine: StateMachine, _ connections: Connections, _ hub: SubscriptionHub, _ memory: MemoryMeter
    ) {
        self.machine = machine
        self.connections = connections
        self.hub = hub
        self.memory = memory
    }

    private var limits: DaemonLimits { connections.limits }

    private func require(
        _ user: User, _ name: String, _ own: Int, and more: Int = 1, of limit: Int, taken all: Int,
        fixed: Int?, advice: String
    ) throws(RequestError) {
        if user.isOperator { return }
        let share = BusLimits.share(of: limit, taken: all, own: own, fixed: fixed)
        guard own + more > share else { return }
        throw RequestError(
            .limit,
            "Your share of this bus is \(max(0, share)) \(name), and you have \(own); \(advice), or ask its operator for more."
        )
    }

    private func holdings(of user: User) -> (stores: Int, timers: Int) {
        user.identity.map { machine.holdings(of: $0) } ?? (0, 0)
    }

    // MARK: What is shared

    /// `isCounted`: it is open already, and has only now said whose it is.
    func requireConnection(_ user: User, isCounted: Bool) throws(RequestError) {
        try require(
            user, "connections", user.connections, of: limits.connections,
            taken: connections.count - (isCounted ? 1 : 0), fixed: limits.user.connections,
            advice: "close some")
    }

    func requireSubscription(_ user: User) throws(RequestError) {
        try require(
            user, "subscriptions", user.subscriptions, of: DaemonLimits.allSubscriptions,
            taken: hub.subscriptionCount, fixed: limits.user.subscriptions, advice: "end some")
    }

    /// A subscriber group that is new.
    func requireShape(_ user: User) throws(RequestError) {
        try require(
            user, "different subscriptions", user.shapes, of: DaemonLimits.allShapes, taken: hub.groups.count,
            fixed: limits.user.shapes, advice: "subscribe to the same stores in the same way, or end some")
    }

    /// A new one for a store, or for a type, that has others: a commit there looks at each.
    func requireShape(_ user: User, alike filter: SubscriptionFilter) throws(RequestError) {
        let (all, own) = hub.groups.alike(filter, of: user)
        try require(
            user, "different subscriptions to these stores", own, of: DaemonLimits.alikeShapes, taken: all,
            fixed: nil, advice: "subscribe as others do")
    }

    /// A pattern that begins like others.
    func requirePattern(_ user: User, alike pattern: AddressPattern) throws(RequestError) {
        let (all, own) = hub.groups.patternsAlike(pattern, of: user)
        try require(
            user, "patterns that begin alike", own, of: DaemonLimits.alikePatterns, taken: all, fixed: nil,
            advice: "begin yours with more of the name")
    }

    func requireStore(_ user: User) throws(RequestError) { try requireStores(1, user) }

    func requireStores(_ count: Int, _ user: User) throws(RequestError) {
        try require(
            user, "stores", holdings(of: user).stores, and: count, of: machine.limits.stores,
            taken: machine.storeCount, fixed: limits.user.stores, advice: "drop some that you created")
    }

    func requireTimer(_ user: User) throws(RequestError) {
        try require(
            user, "timers", holdings(of: user).timers, of: machine.limits.timers,
            taken: machine.timers.count, fixed: limits.user.timers, advice: "cancel some")
    }

    /// After a dispatch that has set timers.
    func requireTimers(_ user: User) throws(RequestError) {
        if machine.timersGained <= 0 { return }
        try require(
            user, "timers", holdings(of: user).timers, and: 0, of: machine.limits.timers,
            taken: machine.timers.count, fixed: limits.user.timers, advice: "cancel some")
    }

    /// `bytes`: what the wills of one connection grow by.
    func requireWill(_ user: User, growingBy bytes: Int) throws(RequestError) {
        if bytes <= 0 { return }
        try require(
            user, "bytes of wills", user.willBytes, and: bytes,
            of: limits.memory / DaemonLimits.willPart, taken: connections.willBytes,
            fixed: limits.user.wills, advice: "leave a smaller one")
    }

    /// Whether one more session of a user may wait for its client.
    func mayLinger(_ user: User, among all: Int) -> Bool {
        if all >= limits.connections { return false }
        return user.isOperator
            || user.lingering < BusLimits.share(of: limits.connections, taken: all, own: user.lingering)
    }

    // MARK: Memory of what waits

    /// What waits: unread output, and unfinished lines.
    private var waiting: Int { connections.outputBytes + connections.heldBytes }

    /// What may wait in all. It is less where states take much, so that others can still commit, but never nothing.
    private var waitingLimit: Int {
        let beside = memory.inUse - waiting
        let limit = limits.memory
        return max(
            limit / DaemonLimits.leastWaitingPart,
            min(limit / DaemonLimits.waitingPart, limit - limit / DaemonLimits.leastWaitingPart - beside))
    }

    /// A user's part of that: at least a line, unless its fixed limit is lower.
    private func waitingShare(of user: User) -> Int {
        let left = waitingLimit - (waiting - user.waitingBytes)
        let share =
            user.isOperator
            ? left
            : BusLimits.share(
                of: waitingLimit, taken: waiting, own: user.waitingBytes, fixed: limits.user.outboxes)
        return max(share, min(limits.line, limits.user.outboxes ?? .max))
    }

    /// Throws if this many more bytes may not wait for a connection: its user has not read what it was sent, and pays for that
    /// before others do.
    func requireOutput(_ bytes: Int, for connection: Connection) throws(RequestError) {
        if mayHold(bytes, for: connection) { return }
        throw RequestError(
            .limit,
            "Your connections have not read \(connection.user.waitingBytes) bytes, and more would exceed your share of the bus's memory; read what waits, then ask again."
        )
    }

    /// Whether this many more bytes may wait for a connection. Output counts when it is made.
    func mayHold(_ bytes: Int, for connection: Connection) -> Bool {
        bytes <= DaemonLimits.smallOutput || isWithinShare(connection, and: bytes)
    }

    /// Whether the connections of a user have no more waiting than their share, with this many more bytes. Once much waits in
    /// all, the user's bytes are summed up; what is added then counts as unread until it would exceed the share. `held`: input
    /// of the connection that waits since the last call.
    func isWithinShare(_ connection: Connection, and bytes: Int = 0, held: Int = 0) -> Bool {
        connection.user.waitingBytes += held
        let total = waiting + bytes
        if total <= limits.memory / DaemonLimits.carefreePart { return true }
        let user = connection.user
        if user.holdsTooMuch { return false }
        if total <= waitingLimit / 4 { return true }
        // To sum up is to look at every connection: not again for each of many small additions.
        let share = waitingShare(of: user)
        let wanted = user.waitingBytes + bytes
        if let summed = user.summedBytes {
            if wanted > share, wanted - summed > share / 64 { sumUp(user) }
        } else {
            sumUp(user)
        }
        user.waitingBytes += bytes
        judge(user)
        if user.holdsTooMuch { user.waitingBytes -= bytes }
        return !user.holdsTooMuch
    }

    /// A connection is about to be closed because its user holds too much, or memory is short.
    func noteEnd(of connection: Connection) {
        let user = connection.user
        user.waitingBytes -= connection.output.outbox.count - connection.output.outbox.sharedCount
        judge(user)
    }

    private func judge(_ user: User) { user.holdsTooMuch = user.waitingBytes > waitingShare(of: user) }

    /// Finds out which users hold more than their share of what waits to be read or finished.
    func measure(_ users: Users) {
        for user in users.all { user.forgetWaiting() }
        if waiting > waitingLimit / 4 {
            sumUp(of: nil)
            for user in users.all { user.summedBytes = user.waitingBytes }
        }
        for user in users.all { judge(user) }
    }

    /// How often it was summed up what one user holds.
    @exclusivity(unchecked) private(set) var sums = 0

    private func sumUp(_ user: User) {
        sums &+= 1
        user.forgetWaiting()
        sumUp(of: user)
        user.summedBytes = user.waitingBytes
    }

    /// Output that connections share counts once per user: the most that one of them has.
    private func sumUp(of one: User?) {
        var shared: [ObjectIdentifier: Int] = [:]
        for case let connection? in connections.all where one == nil || connection.user === one {
            let user = connection.user
            user.waitingBytes +=
                connection.output.outbox.count - connection.output.outbox.sharedCount
                + connection.input.countedBytes
                + connection.output.partBytes + (connection.output.heldReply?.count ?? 0)
            let part = connection.output.outbox.sharedCount
            let known = shared[ObjectIdentifier(user), default: 0]
            if part > known {
                user.waitingBytes += part - known
                shared[ObjectIdentifier(user)] = part
            }
        }
    }
}

/// What `limits: user:` fixes for every user but root and the daemon's own.
package struct UserLimits: Sendable, Equatable {
    package var connections: Int?
    package var subscriptions: Int?
    package var shapes: Int?
    package var stores: Int?
    package var timers: Int?
    /// In bytes, of wills, and of what waits unsent or unfinished.
    package var wills: Int?
    package var outboxes: Int?

    package init() {}
}

extension DaemonLimits {
    /// Subscriptions and subscriber groups of all connections: each takes memory, and the second also work for commits
    /// that it wants.
    package static let allSubscriptions = 1 << 20
    package static let allShapes = 1 << 18
    /// The memory divided by each: for wills, and for unread output and unfinished lines.
    package static let willPart = 2
    package static let waitingPart = 2
    /// Where states take most of the memory, this part of it is left for what waits, and as much for commits of others.
    static let leastWaitingPart = 8
    /// While less waits than this part of the memory, or for output this small, nothing is summed up by user.
    static let carefreePart = 32
    static let smallOutput = 4 << 10
}
