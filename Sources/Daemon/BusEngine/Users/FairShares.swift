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

    init(_ machine: StateMachine, _ connections: Connections, _ hub: SubscriptionHub) {
        self.machine = machine
        self.connections = connections
        self.hub = hub
    }

    private var limits: DaemonLimits { connections.limits }

    /// What of a limit a user may have, if all users have so much and it has so much of that.
    static func share(of limit: Int, taken all: Int, own: Int, fixed: Int? = nil) -> Int {
        let left = limit - (all - own)
        // The last one is not divided.
        return min(max(left / 2, min(left, 1)), fixed ?? .max)
    }

    private func require(
        _ user: User, _ name: String, _ own: Int, and more: Int = 1, of limit: Int, taken all: Int,
        fixed: Int?, advice: String
    ) throws(RequestError) {
        if user.isOperator { return }
        let share = Self.share(of: limit, taken: all, own: own, fixed: fixed)
        guard own + more > share else { return }
        throw RequestError(
            .limit,
            "Your share of what this bus has for its users is \(max(0, share)) \(name), and you have \(own); \(advice), or ask its operator for more."
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
            user, "different subscriptions", user.shapes, of: DaemonLimits.allShapes, taken: hub.groupCount,
            fixed: limits.user.shapes, advice: "subscribe to the same stores in the same way, or end some")
    }

    /// A pattern that begins like others.
    func requirePattern(_ user: User, alike pattern: AddressPattern) throws(RequestError) {
        let (all, own) = hub.patternsAlike(pattern, of: user)
        try require(
            user, "patterns that begin alike", own, of: DaemonLimits.alikePatterns, taken: all, fixed: nil,
            advice: "begin yours with more of the name")
    }

    func requireStore(_ user: User) throws(RequestError) {
        try require(
            user, "stores", holdings(of: user).stores, of: machine.limits.stores,
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
            || user.lingering < Self.share(of: limits.connections, taken: all, own: user.lingering)
    }

    // MARK: Memory of what waits

    /// What unread output and unfinished lines may take in all, before one who has more than a share of it may hold little.
    private var waitingLimit: Int { limits.memory / DaemonLimits.waitingPart }

    /// A connection is about to be closed because its user holds too much, or memory is short.
    func noteEnd(of connection: Connection) {
        let user = connection.user
        user.waitingBytes -= connection.outbox.count - connection.outbox.sharedCount
        judge(user, total: connections.outputBytes + connections.heldBytes)
    }

    private func judge(_ user: User, total: Int) {
        let share = Self.share(
            of: waitingLimit, taken: total, own: user.waitingBytes, fixed: limits.user.outboxes)
        user.holdsTooMuch = !user.isOperator && user.waitingBytes > share
    }

    /// Finds out which users hold more than their share of what waits to be read or finished.
    func measure(_ users: Users) {
        let total = connections.outputBytes + connections.heldBytes
        for user in users.all { user.waitingBytes = 0 }
        if total > waitingLimit / 4 { sumUp() }
        for user in users.all { judge(user, total: total) }
    }

    /// What several connections share counts once for each user, as the longest part of it.
    private func sumUp() {
        var shared: [ObjectIdentifier: Int] = [:]
        for case let connection? in connections.all {
            let user = connection.user
            user.waitingBytes +=
                connection.outbox.count - connection.outbox.sharedCount + connection.heldBytes
            let part = connection.outbox.sharedCount
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
    /// Of the memory, one part in so many is for wills, and one in so many for unread output and unfinished lines.
    package static let willPart = 2
    package static let waitingPart = 2
}
