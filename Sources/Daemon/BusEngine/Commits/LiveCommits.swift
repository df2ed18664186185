import BusJSON
import BusMachine
import BusProtocol

/// Makes commits: what is planned is applied, subscribers are notified, and the log gets its entry.
final class LiveCommits {
    private let machine: StateMachine
    private let clock: TurnClock
    private let hub: SubscriptionHub
    private let log: LogGate
    private let reads: PendingReads
    private let admission: Admission
    private let shares: FairShares
    private let long: LongRequests
    @exclusivity(unchecked) private var largeWriteSetsSeen = 0
    /// Since the start, for `stats`.
    @exclusivity(unchecked) private(set) var count = 0

    init(
        _ machine: StateMachine, _ clock: TurnClock, _ hub: SubscriptionHub, _ log: LogGate,
        _ reads: PendingReads, _ admission: Admission, _ shares: FairShares, _ long: LongRequests
    ) {
        self.machine = machine
        self.clock = clock
        self.hub = hub
        self.log = log
        self.reads = reads
        self.admission = admission
        self.shares = shares
        self.long = long
    }

    /// Applies the plan; if that takes more memory than there is, or leaves the user of `connection` with more timers than
    /// its share, it is rolled back and refused. Returns how many stores matched.
    @inline(__always)
    func apply(
        by principal: Principal, for connection: Connection? = nil, spending most: Int = .max
    ) throws(RequestError) -> Int {
        let (before, timersSet) = (machine.stateBytes, machine.timersSet)
        do throws(RequestError) {
            let matched = try machine.apply(by: principal, spending: most)
            if machine.stateBytes > before { try admission.requireMemory() }
            // Only clients are limited: a timer that fires may set itself again though the limit has been reached.
            if machine.timersSet != timersSet, let connection { try shares.requireTimers(connection.user) }
            long.noteOperations(machine.operationsSpent)
            return matched
        } catch {
            long.noteOperations(machine.operationsSpent)
            rollback()
            throw error
        }
    }

    /// Commits what was applied, together with `details`; subscribers are notified, and the log gets its entry.
    @inline(__always)
    func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest? = nil, _ details: CommitDetails? = nil
    ) {
        if machine.commit(by: principal, actions: actions, key: key, details, to: self) { hub.scheduleTrim() }
    }

    /// What views have evaluated for the actions just committed is work of these.
    @inline(__always)
    func noteViews() {
        if machine.isRead { long.noteOperations(machine.operationsOfViews, after: machine.operationsSpent) }
    }

    /// Commits other definitions.
    func commit(redefinition details: CommitDetails, by principal: Principal, key: KeyedRequest? = nil) {
        // Pending reads and groups that want whole types refer to types by number.
        reads.restart()
        hub.groups.noteTypes()
        commit(by: principal, actions: false, key: key, details)
    }

    /// Takes back what was applied.
    func rollback() {
        machine.rollback()
        // What was rolled back may have been large: the storage it needed is released some time later.
        if machine.largeWriteSets == largeWriteSetsSeen { return }
        largeWriteSetsSeen = machine.largeWriteSets
        hub.scheduleTrim()
    }
}

/// What becomes of a commit while the machine makes it.
extension LiveCommits: CommitObserver {
    @inline(__always)
    func began(actions: Bool, _ details: CommitDetails?) {
        count &+= 1
        if actions { machine.countActions() }
        hub.groups.beginTests(of: machine.writeSet.count + (details?.made.count ?? 0))
        if let details { noteStores(of: details) }
        hub.beginPublication()
        if let batch = details?.batch { hub.publishReplaced(batch.replaced) }
    }

    @inline(__always)
    func wrote(at place: Int, _ change: StoreChange, isAlone: Bool) {
        if isAlone {
            hub.publishOnlyWrite(change)
        } else {
            hub.publishWrite(at: place, change, isAlone: false)
        }
    }

    func replaced(_ store: Int32, before: JSONObject) { hub.publishState(of: store, replacing: before) }
    func created(_ store: Int32) { hub.publishState(of: store) }
    func dropped(_ store: Int32) { hub.publishDrop(of: store) }

    func viewsGain(_ stores: [Int32]) {
        clock.work += Work.create * stores.count
        for index in stores { hub.groups.join(index) }
    }

    func viewsHaveGained(_ stores: [Int32], lost: [Int32]) {
        clock.work += Work.drop * lost.count + reads.noteCreated(stores) + reads.noteDropped(lost)
        for index in lost { hub.groups.leave(index) }
    }

    @inline(__always)
    func ends(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        hub.endPublication(by: principal, actions: actions)
        if log.isOn {
            if machine.keepsLess, !machine.keepsCommit(actions: actions, details) {
                log.pass(machine)
            } else {
                log.append(machine, by: principal, actions: actions, key: key, details)
            }
        }
        if let trace = hub.trace {
            machine.traceCommit(by: principal, actions: actions, key: key, details, to: trace)
        }
        if reads.followChanges { noteChanged(details) }
        // Delivery reads the records of dropped stores, so they go last.
        if let details { forgetStores(of: details) }
    }

    /// The stores that a commit creates and drops cost work, and change what pending reads find.
    private func noteStores(of details: CommitDetails) {
        clock.work += Work.create * details.made.count + Work.drop * details.gone.count
        for index in details.made { hub.groups.join(index) }
    }

    /// What pending reads have looked at may be another now.
    private func noteChanged(_ details: CommitDetails?) {
        clock.work +=
            reads.noteChanged(machine.writeSet.elements.lazy.map(\.store))
            + reads.noteChanged((details?.replaced ?? []).lazy.map(\.store))
    }

    private func forgetStores(of details: CommitDetails) {
        clock.work += reads.noteCreated(details.created) + reads.noteDropped(details.removed)
        for index in details.gone { hub.groups.leave(index) }
    }
}
