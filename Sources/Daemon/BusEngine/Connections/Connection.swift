import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// One client: its bytes in both directions, and what it waits for.
///
/// It consists of parts that own what they hold: others ask them, and have them change by their methods. What it waits
/// for it holds itself, so that `waits` always says so.
final class Connection {
    let id: ConnectionID
    /// Counts all connections of this daemon: what clients and operators know it by, never used again.
    let serial: Int
    /// When it came, in milliseconds since 1970.
    let since: Int
    // Users are never forgotten.
    @exclusivity(unchecked) private(set) unowned(unsafe) var user: User

    let input: Input
    @exclusivity(unchecked) var output = Output()
    @exclusivity(unchecked) var access = ClientAccess()
    @exclusivity(unchecked) var hold = SessionHold()
    @exclusivity(unchecked) var delivery = Delivery()
    @exclusivity(unchecked) var turn = Turn()
    @exclusivity(unchecked) var unwritten = Unwritten()

    /// Why it is not read.
    @exclusivity(unchecked) private(set) var waits: WaitReasons = []
    /// Nothing more is read or added; what is there is sent, then the socket closed.
    @exclusivity(unchecked) private(set) var isClosing = false
    /// The client no longer reads what is written for it.
    @exclusivity(unchecked) private(set) var isLost = false
    /// Its socket is closed.
    @exclusivity(unchecked) private(set) var isGone = false
    /// How many of its subscriptions lag behind.
    @exclusivity(unchecked) private(set) var lagging = 0
    /// Nil before it has waited for any of these, which most never do.
    @exclusivity(unchecked) private var awaited: Awaited?
    /// Its requests on their way through the log that several machines share; nil before the first.
    @exclusivity(unchecked) private(set) var entries: PendingEntries?

    private final class Awaited {
        @exclusivity(unchecked) var behind = 0
        @exclusivity(unchecked) var searches: [SubscriberGroup] = []
        @exclusivity(unchecked) var query: PendingQuery?
        @exclusivity(unchecked) var read: PendingRead?
        @exclusivity(unchecked) var deferredLine: [UInt8]?
    }

    /// How many of its subscriptions still receive past actions.
    var behind: Int { awaited?.behind ?? 0 }
    /// The groups of its subscriptions that have not found all their stores.
    var searches: [SubscriberGroup] { awaited?.searches ?? [] }
    /// Its query to the log or the daemon that is not answered yet.
    var query: PendingQuery? { awaited?.query }
    /// A read of many stores that takes more than one slice.
    var read: PendingRead? { awaited?.read }
    /// A request whose commit is so long that it has to wait until others have had their time, or that has to wait for those
    /// before it.
    var deferredLine: [UInt8]? { awaited?.deferredLine }
    /// Whether it has requests on their way through the shared log.
    var hasEntries: Bool { entries?.isEmpty == false }

    init(
        id: ConnectionID, serial: Int, peer: Peer, of user: User, at now: Int, limits: DaemonLimits
    ) {
        self.id = id
        self.serial = serial
        since = now
        self.user = user
        input = Input(limits, at: now)
        access.meet(peer)
    }

    /// Who is at its other end.
    var peer: Peer { access.peer }

    /// Another user's from here on.
    func give(to user: User) {
        self.user = user
        turn.changeUser()
    }

    func close() { isClosing = true }
    func lose() { isLost = true }
    func end() { (isClosing, isGone) = (true, true) }

    // MARK: Waiting

    /// Nothing more is read before it has had another turn, and what it waits for has come.
    @inline(__always)
    func wait(for reason: WaitReasons) { waits.formUnion([reason, .turn]) }

    /// It has used up its slice.
    func pause() { waits.insert(.slice) }

    func beginSlice() { waits.remove(.slice) }

    /// Half of its outbox is empty.
    func noteRoom() { waits.remove(.output) }

    /// There is a new batch of commits.
    func noteBatch() { waits.remove(.log) }

    /// Its request may pass the gate.
    func passGate() { waits.remove(.gate) }

    /// It goes on, if nothing is left to wait for.
    func goOn() -> Bool {
        guard waits == .turn else { return false }
        waits = []
        return true
    }

    /// Its subscriptions: one begins to lag, or no longer does.
    @inline(__always)
    func beginLagging() {
        lagging += 1
        wait(for: .states)
    }

    /// Whether subscriptions of its have still to be notified of what was committed before: changes, or actions that come from
    /// the log.
    @inline(__always)
    var isLate: Bool { !waits.isDisjoint(with: [.states, .past]) }

    /// Whether it asks for nothing, and only waits for changes that its subscriptions have not received yet.
    var isOnlyBehind: Bool {
        lagging > 0 && !turn.awaitsInput && input.countedBytes == 0
            && waits.isSubset(of: [.slice, .turn, .states, .output])
    }

    func endLagging() {
        lagging -= 1
        if lagging == 0 { waits.remove(.states) }
    }

    /// One begins to receive past actions, or has received all.
    func beginPast() {
        begin().behind += 1
        wait(for: .past)
    }

    func endPast() {
        awaited?.behind -= 1
        if behind == 0 { waits.remove(.past) }
    }

    private func begin() -> Awaited {
        let awaited = awaited ?? Awaited()
        self.awaited = awaited
        return awaited
    }

    /// The group of one has still to find stores.
    func beginSearch(for group: SubscriberGroup) {
        begin().searches.append(group)
        wait(for: .stores)
        pause()
    }

    func endSearch() {
        awaited?.searches.removeLast()
        if searches.isEmpty { waits.remove(.stores) }
    }

    /// None of its subscriptions is in the group any more.
    func endSearch(of group: SubscriberGroup) {
        awaited?.searches.removeAll { $0 === group }
        if searches.isEmpty { waits.remove(.stores) }
    }

    /// It has no subscriptions any more.
    func endSearches() {
        awaited?.searches = []
        waits.remove(.stores)
    }

    func ask(_ query: PendingQuery) {
        begin().query = query
        wait(for: .query)
    }

    /// Its query is answered, or it no longer waits for that.
    func endQuery() {
        awaited?.query = nil
        waits.remove(.query)
    }

    /// A read that goes on in the next slice.
    func begin(_ read: PendingRead) {
        begin().read = read
        wait(for: .read)
        pause()
    }

    func endRead() {
        awaited?.read = nil
        waits.remove(.read)
    }

    /// A request that is executed later.
    func keep(_ line: UnsafeRawBufferPointer) {
        begin().deferredLine = Array(line)
        wait(for: .line)
    }

    func forgetLine() {
        awaited?.deferredLine = nil
        waits.remove(.line)
    }

    /// A request is on its way through the shared log, or refused behind others that are.
    func add(_ entry: PendingEntry) {
        let entries = entries ?? PendingEntries()
        self.entries = entries
        entries.add(entry)
        if entries.isFull { wait(for: .entries) }
    }

    func resolve(_ ticket: Int, _ outcome: EntryResolution) { entries?.resolve(ticket, outcome) }

    /// What comes behind its requests in the shared log need not wait for them.
    func passEntries() { waits.remove(.entries) }

    /// The barrier is passed that a read waits for, or will never be.
    func passBarrier() { waits.remove(.barrier) }
}
