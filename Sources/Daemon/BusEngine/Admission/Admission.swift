import BusJSON
import BusMachine
import BusProtocol

/// Whether this daemon accepts a request: who sends it, whether there is room, whether there is a log to write it to.
///
/// Every refusal before a commit is decided here, and no request bypasses it. What the state machine refuses is refused
/// by every daemon; what is refused here is refused by this one.
final class Admission {
    private let machine: StateMachine
    private let connections: Connections
    private let hub: SubscriptionHub
    private let log: LogGate
    private let memory: MemoryMeter
    private let access: AccessControl
    private let users: Users
    private let shares: FairShares
    /// The daemon's own uid.
    private let ownUID: Int

    init(
        _ machine: StateMachine, _ connections: Connections, _ hub: SubscriptionHub, _ log: LogGate,
        _ memory: MemoryMeter, _ access: AccessControl, _ users: Users, _ shares: FairShares, ownUID: Int
    ) {
        self.machine = machine
        self.connections = connections
        self.hub = hub
        self.log = log
        self.memory = memory
        self.access = access
        self.users = users
        self.shares = shares
        self.ownUID = ownUID
    }

    private var limits: DaemonLimits { connections.limits }

    // MARK: Who asks

    /// Before a client is identified, it may only send a hello, unless it has shown a certificate.
    @inline(__always)
    func admit(_ operation: Operation, from connection: Connection) throws(RequestError) {
        if connection.access.principal == nil, operation != .local(.hello) { try identify(connection) }
    }

    /// The first request of a client decides who it is: by a token in its hello, or else by its certificate.
    func identify(_ connection: Connection) throws(RequestError) {
        guard case .tcp(let address, let certificate?) = connection.peer else { throw Self.unknownClient }
        try admit(connection, as: machine.principal(certificate, address: address))
    }

    /// A TCP client has shown who it is; its user may have so many connections.
    func admit(_ connection: Connection, as principal: Principal) throws(RequestError) {
        try shares.requireConnection(users.user(principal.identity), isCounted: true)
        access.identify(connection, as: principal)
    }

    static let unknownClient = RequestError(
        .unauthorized, "Begin with hello and a token; this is a TCP connection.")

    /// Root and the daemon's own user.
    func isOperator(_ principal: Principal) -> Bool {
        guard let uid = principal.uid else { return false }
        return uid == 0 || uid == ownUID
    }

    func requireOperator(
        _ principal: Principal, to verb: String = "reload definitions"
    ) throws(RequestError) {
        guard isOperator(principal) else {
            throw RequestError(.forbidden, "Only root and the daemon's own user may \(verb).")
        }
    }

    // MARK: The log

    /// Throws while nothing can be committed.
    @inline(__always)
    func requireCommits() throws(RequestError) {
        if let reason = log.unavailableReason { throw RequestError(.unavailable, reason) }
    }

    func requireLog() throws(RequestError) {
        guard log.isOn else {
            throw RequestError(
                .unavailable,
                "This bus keeps no action log, so there is no past to read or return to; configure log: for one."
            ).with("log", false)
        }
    }

    // MARK: Memory

    /// Throws if the daemon has no memory for this many more bytes of state.
    func requireMemory(for bytes: Int) throws(RequestError) {
        if memory.inUse + bytes > memory.limit { throw memoryUsedUp }
    }

    /// Throws if the daemon has no memory for states to grow.
    func requireMemory() throws(RequestError) { if memory.isOver { throw memoryUsedUp } }

    private var memoryUsedUp: RequestError {
        RequestError(
            .limit, "The bus holds \(memory.limit) bytes, its memory limit; drop what is not needed.")
    }

    var overMemory: RequestError {
        RequestError(.limit, "The bus holds \(memory.limit) bytes, its memory limit; try again later.")
    }

    /// Throws if there is no memory for another pending read.
    func requireMemoryForRead() throws(RequestError) {
        if memory.isOver {
            throw RequestError(
                .limit,
                "The bus holds \(memory.limit) bytes, its memory limit; ask for fewer stores, or later.")
        }
    }

    /// The bytes that a will counts as. Throws if the daemon has no memory for it.
    func requireMemory(forWill actions: [JSON], of connection: Connection) throws(RequestError) -> Int {
        let size = DaemonLimits.memory(ofWill: actions)
        guard
            size <= connection.hold.willBytes
                || memory.inUse + size - connection.hold.willBytes <= memory.limit
        else {
            throw RequestError(
                .limit, "The bus holds \(memory.limit) bytes, its memory limit; leave a smaller will.")
        }
        try shares.requireWill(connection.user, growingBy: size - connection.hold.willBytes)
        return size
    }

    // MARK: Lines

    /// Whether the values in a line may make an event longer than a line.
    func isLong(_ line: UnsafeRawBufferPointer) -> Bool { line.count >= limits.longLine }

    /// Throws if the planned actions leave no room for their events on a line.
    func requireEventRoom() throws(RequestError) {
        let plan = machine.plan
        for action in plan.actions.elements {
            for step in action.steps {
                do throws(RequestError) {
                    try requireEventRoom(for: plan.steps[step].payload)
                } catch {
                    throw error.with(indexOf: action)
                }
            }
        }
    }

    /// The same for a batch that can't be planned before it is executed, by its payloads as they are.
    func requireEventRoom(for batch: RequestReader) throws(RequestError) {
        for (index, element) in (try batch.array(.actions) ?? []).enumerated() {
            guard let payload = element["payload"]?.object else { continue }
            do throws(RequestError) { try requireEventRoom(for: payload) } catch { throw error.at(index) }
        }
    }

    private func requireEventRoom(for payload: JSONObject) throws(RequestError) {
        guard payload.encodedSize + DaemonLimits.eventOverhead > limits.line else { return }
        throw RequestError(
            .tooLarge, "The payload leaves no room for its event on a line of \(limits.line) bytes.")
    }

    // MARK: Subscriptions

    func requireSubscription(_ connection: Connection) throws(RequestError) {
        guard connection.delivery.subscriptions.count < limits.subscriptions else {
            throw RequestError(
                .limit,
                "A connection has at most \(limits.subscriptions) subscriptions; use a pattern, or unsubscribe."
            )
        }
    }

    func require(_ filter: SubscriptionFilter, _ connection: Connection) throws(RequestError) {
        if memory.isOver { throw overMemory }
        // What it begins with may be long.
        if !filter.actions { try shares.requireOutput(DaemonLimits.usualContent, for: connection) }
        if filter.actions { try requireActionSubscription(connection) }
        try shares.requireSubscription(connection.user)
        if hub.groups.has(filter) { return }
        try shares.requireShape(connection.user)
        try requirePattern(filter.pattern, connection.user)
        try requireAlike(filter, connection.user)
    }

    /// Action events can't be merged, so each subscription to them costs every dispatch.
    private func requireActionSubscription(_ connection: Connection) throws(RequestError) {
        let count = connection.delivery.subscriptions.count { $0.group.key.actions }
        guard count < DaemonLimits.actionSubscriptions else {
            throw RequestError(
                .limit,
                "A connection has at most \(DaemonLimits.actionSubscriptions) subscriptions to actions; use a pattern, or unsubscribe."
            )
        }
    }

    private func requireAlike(_ filter: SubscriptionFilter, _ user: User) throws(RequestError) {
        guard hub.groups.alike(filter, of: user).all < DaemonLimits.alikeShapes else {
            throw RequestError(
                .limit,
                "There are \(DaemonLimits.alikeShapes) different subscriptions to these stores already; subscribe as one of them does."
            )
        }
        try shares.requireShape(user, alike: filter)
    }

    private func requirePattern(_ pattern: AddressPattern, _ user: User) throws(RequestError) {
        guard !pattern.name.isAny, pattern.literalAddress == nil else { return }
        guard hub.groups.patternsAlike(pattern, of: user).all < DaemonLimits.alikePatterns else {
            throw RequestError(
                .limit,
                "The bus has \(DaemonLimits.alikePatterns) other patterns that begin like this one; begin yours with more of the name."
            )
        }
        try shares.requirePattern(user, alike: pattern)
    }
}

extension DaemonLimits {
    /// What a will counts as in memory.
    static func memory(ofWill actions: [JSON]) -> Int {
        actions.isEmpty ? 0 : willFactor * JSON.array(actions).encodedSize
    }

    static func memory(ofWill session: Session) -> Int { memory(ofWill: session.will.map(\.json)) }
}
