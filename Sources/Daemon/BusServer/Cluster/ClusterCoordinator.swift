import BusCluster
import BusEngine
import BusJSON
import BusLog
import BusMachine
import BusProtocol
import BusSystem
import EtcdLog
import Logging

/// Coordinates the engine of a member, its end of the shared log, and its local copy: it carries out what the member
/// wants, in its order. It belongs to the bus queue.
final class ClusterCoordinator {
    let member: ClusterMember
    let settings: ClusterSettings
    let logger: Logger
    private let log: any OrderedLog
    private let file: CopyFile
    private let bell: EventFD
    /// Nil while there is no bus yet to serve.
    private(set) var engine: Engine?

    /// What replies tell.
    var condition: JSONObject
    /// For the status: since when and why the log can't be reached. Nil while it can.
    var detachment: String?
    /// While this member's copy can't be written.
    var suspension: Suspension?
    /// What the next start is to know and could not be written.
    private var unremembered: [CopyFact: String?] = [:]
    /// Entries and barriers of this turn, which are proposed together.
    private var submitted: [(entry: ClusterEntry, ticket: Int, user: Int)] = []
    private var barriers: [Int] = []
    /// What the log has told and is not carried out yet, the next one last.
    private var unheard: [OrderedLogEvent] = []
    var nextTick = 0
    /// The replica that is lacking.
    private(set) var lack: ReplicaLack?
    /// Those present as the log listed them last, or why it did not; nil: it has not answered yet.
    private(set) var listed: Result<[OrderedLogMember], OrderedLogFailure>?
    /// Whether clients are served.
    var isServing = false
    /// Another process goes on as this member.
    private var isPassed = false
    var snapshots: ReplicaSnapshots?
    private var bytesSince = 0
    private var entriesSince = 0
    var joiners = JoiningMembers()
    /// Through which member the log is read; nil: from the log itself.
    var readsFrom: String?
    var followers: LogFollowers
    let tokens: MemberTokens

    /// Called when the member can't go on, with the reason and the exit code.
    var giveUp: (StartFailure) -> Void = { _ in }
    /// Called with a trouble that the status is to show, and with nil when it is over.
    var noteTrouble: (String?) -> Void = { _ in }
    /// Called when the copy can't be written; nil: that ends the start.
    var noteCopyTrouble: ((LogFailure) -> Void)?
    /// Called when an operator wants the member to leave.
    var leave: () -> Void = {}

    /// The ticket of what the start itself asks for.
    static let ownTicket = 0

    init(
        _ member: ClusterMember, _ log: EtcdLog, _ file: CopyFile, _ settings: ClusterSettings,
        _ tokens: MemberTokens, _ bell: EventFD, _ logger: Logger
    ) {
        self.tokens = tokens
        followers = LogFollowers(log.feed)
        self.bell = bell
        self.member = member
        self.log = log
        self.file = file
        self.settings = settings
        self.logger = logger
        condition = [
            "bus": .string(settings.bus.value), "member": .string(settings.member), "attached": false,
            "since": DurationText.seconds(WallClock.now),
        ]
        carryOut()
    }

    /// From now on commits are made by this engine, which stands in front of the replica.
    func serve(with engine: Engine, _ commits: SharedCommits) {
        self.engine = engine
        let own = Array(member.about.token.utf8)
        engine.share(commits, condition: condition) {
            !own.isEmpty && TokenTable.equal(own, Array($0.utf8))
        }
    }

    // MARK: - Turns

    /// What the log has told is carried out, as much as a turn may take: clients are served between two entries, too.
    func hear() {
        answerJoiners()
        answerFollowers()
        if isSuspended { return }
        if unheard.isEmpty { unheard = log.take().reversed() }
        let end = MonotonicClock.nanoseconds + LoopLimits.turnNanoseconds
        while !isSuspended, let event = unheard.popLast() {
            switch event {
            case .members(let members):
                listed = .success(members)
                tokens.note(members)
            case .entry(let entry): tokens.note(entry)
            case .attached where !settings.from.isEmpty: log.listMembers()
            case .membersFailed(let failure): listed = .failure(failure)
            case .reads(let address, let reason):
                noteReading(from: address, because: reason)
                // It may have another token by now.
                if reason != nil { log.listMembers() }
            default: break
            }
            member.receive([event], now: WallClock.now)
            carryOut()
            if MonotonicClock.nanoseconds > end { break }
        }
        awaitProposal()
    }

    /// Whether the log has told more than one turn could carry out.
    var hasUnheard: Bool { !isSuspended && !unheard.isEmpty }

    /// Does what is due.
    func tickIfDue(now: Int) {
        guard now >= nextTick else { return }
        defer { answerFollowers() }
        joiners.expire(now: now) { engine?.isOpen(client: $0) == true }
        answerJoiners()
        if let suspension { return stay(suspension, now: now) }
        member.tick(now: WallClock.now)
        carryOut()
        engine?.shared.submitFailedAgain()
        // A timer of the bus that is due is pointed out within a tenth of a second.
        let wait = min(1000, max(10, member.replica.nextDue - WallClock.now))
        nextTick = now + (member.isWaiting ? min(wait, 100) : wait)
        awaitProposal()
    }

    /// What is gathered is proposed in time.
    private func awaitProposal() {
        if let time = member.timeToProposal { nextTick = min(nextTick, MonotonicClock.milliseconds + time) }
    }

    /// When `tickIfDue` has something to do, in monotonic milliseconds.
    var due: Int { nextTick }

    /// Entries of the clients are proposed at the end of the turn, together.
    func submit(_ entry: ClusterEntry, ticket: Int, user: Int) { submitted.append((entry, ticket, user)) }
    func sync(ticket: Int) { barriers.append(ticket) }

    /// Passes on what was submitted; true if there was anything.
    func turnEnded() -> Bool {
        if submitted.isEmpty, barriers.isEmpty { return false }
        let (entries, barriers) = (submitted, barriers)
        (submitted, self.barriers) = ([], [])
        if let suspension {
            refuse(entries.map(\.ticket) + barriers, suspension)
            return true
        }
        let now = WallClock.now
        member.submit(entries, now: now)
        for ticket in barriers { member.sync(ticket: ticket, now: now) }
        nextTick = min(nextTick, MonotonicClock.milliseconds + 100)
        carryOut()
        awaitProposal()
        return true
    }

    /// Something that the start itself asks for; nobody is told what comes of it.
    func submitAtStart(_ entry: ClusterEntry) {
        member.submit(entry, ticket: Self.ownTicket, now: WallClock.now)
        carryOut()
    }

    /// Which member this is, for the status.
    var words: String { "\(settings.member) of \(settings.bus.value)" }

    /// What a start waits for, for the status.
    var waitingFor: String {
        if lack != nil { return "waiting for a snapshot of another member" }
        if member.isNameTaken {
            return
                "waiting: a member called \(settings.member) is present; if it is an earlier run of this one, its lease ends soon"
        }
        if condition["attached"] == true {
            if member.isCaughtUp { return "joining the bus" }
            return "reading the shared log: revision \(member.replica.machine.revision)"
        }
        return "waiting for the shared log: " + (condition["reason"]?.string ?? "connecting")
    }

    /// Everything that was applied up to a place is on disk.
    func stored(through place: Int, bytes: Int = 0) {
        member.stored(through: place, now: WallClock.now)
        carryOut()
        bytesSince += bytes
        entriesSince += 1
        guard
            bytesSince >= ReplicaSnapshots.bytesBetween || entriesSince >= ReplicaSnapshots.entriesBetween,
            snapshots?.take(at: place) == true
        else { return }
        (bytesSince, entriesSince) = (0, 0)
    }

    // MARK: - Replicas

    /// Asks which members are present: `listed` has them then.
    func askMembers() {
        listed = nil
        log.listMembers()
    }

    /// Goes on with another replica, before there is an engine.
    func begin(with replica: Replica, isFromMember: Bool) {
        lack = nil
        member.begin(with: replica, isFromMember: isFromMember, now: WallClock.now)
        carryOut()
    }

    /// Goes on with its own states as one of those with which the bus may start over.
    func beginAnew(with replica: Replica, behind place: Int) {
        lack = nil
        member.beginAnew(with: replica, behind: place, now: WallClock.now)
        carryOut()
    }

    // MARK: - The end

    /// Leaves the bus, so that nobody waits for the end of the lease, unless another process goes on as this member.
    func close() {
        if !isPassed { log.leave() }
        log.close()
    }

    /// What another process needs to go on as this member, at once; nil where none can. Nothing that the log tells from here on is
    /// heard, unless this process goes on after all.
    func pass() -> StateTransfer.Member? {
        guard member.isAtRest, member.canPropose, member.proof == nil else { return nil }
        log.pass()
        let lease: Int?? = awaited { if case .passed(let lease) = $0 { lease } else { nil } }
        guard let lease = lease ?? nil else { return nil }
        isPassed = true
        return StateTransfer.Member(lease: lease, place: member.replica.link.place)
    }

    /// It was not passed on after all.
    func keep() { isPassed = false }

    /// The first event that is meant; nil if it does not come in time. What comes before and with it is heard later, if this process
    /// goes on.
    private func awaited<Found>(_ find: (OrderedLogEvent) -> Found?) -> Found? {
        let end = MonotonicClock.milliseconds + Self.timeToPass
        while MonotonicClock.milliseconds < end {
            let events = log.take()
            unheard.insert(contentsOf: events.reversed(), at: 0)
            for event in events { if let found = find(event) { return found } }
            bell.wait(milliseconds: 10)
        }
        return nil
    }

    /// The sessions of the previous process are nobody's: they end.
    func endSessions() {
        member.leave()
        carryOut()
    }

    /// Goes on as the member that the previous process was.
    func resume(_ passed: StateTransfer.Member) {
        guard let present = member.replica.members[member.name] else { return }
        log.resume(as: member.name, incarnation: present.incarnation, lease: passed.lease)
    }

    /// In milliseconds: a busy server of etcd takes seconds, and clients notice no restart that takes as long.
    private static let timeToPass = 5000

    // MARK: - What the member wants

    func carryOut() {
        var outputs = member.takeOutputs()
        while !outputs.isEmpty {
            for output in outputs { carryOut(output) }
            outputs = member.takeOutputs()
        }
    }

    private func carryOut(_ output: MemberOutput) {
        switch output {
        case .read(let place, let cluster):
            unheard.removeAll(where: \.isOfReading)
            log.read(behind: place, of: cluster)
        case .join(let report): log.join(as: member.name, report: report)
        case .propose(let name, let content): log.propose(name, content)
        case .barrier(let number): log.barrier(number)
        case .report(let report): log.report(report)
        case .leave: log.leave()
        case .end(let name, let incarnation): log.end(name, incarnation: incarnation)
        case .trim(let place): log.trim(through: place)
        case .applied(let entry, let applied): engine?.noteApplied(entry.encoded, at: applied.link.place)
        case .remember(let incarnation): remember(.incarnation, String(incarnation))
        case .rememberProof(let proof): remember(.proof, proof.map { LocalCopy.text($0.encoded) })
        case .needsReplica(let lack): note(lack)
        case .answered(let ticket, let outcome, let spent):
            engine?.resolve(ticket, .outcome(outcome, spent: spent))
        case .failed(let ticket, let failure): engine?.resolve(ticket, .failed(failure))
        case .synced(let ticket, _): engine?.resolve(ticket, .synced)
        case .notice(let notice): note(notice)
        case .stopped(let stop): end(stop)
        }
    }

    private func remember(_ fact: CopyFact, _ value: String?) {
        unremembered[fact] = .some(value)
        rememberAll()
    }

    /// A member whose copy can't be written goes on. What it could not write is lost only in a crash: its incarnation, so that the next start
    /// waits for the end of the lease, and what it has seen of a lost log.
    func rememberAll() {
        do throws(LogFailure) {
            for (fact, value) in unremembered {
                try write(fact, value)
                unremembered[fact] = nil
            }
        } catch {
            guard let noteCopyTrouble else { return giveUp(StartFailure(.log, error.message)) }
            noteCopyTrouble(error)
        }
    }

    /// The next start takes another copy. False if that can't be written: then this process has ended.
    private func discard(_ copy: DiscardedCopy) -> Bool {
        do throws(LogFailure) {
            try write(.discard, copy.text)
            return true
        } catch {
            giveUp(StartFailure(.log, error.message))
            return false
        }
    }

    private func write(_ fact: CopyFact, _ value: String?) throws(LogFailure) {
        try file.remember(fact, value)
        if let cluster = member.cluster { try file.remember(.cluster, cluster) }
    }

    /// The copy here can't go on. The member begins again with another one: what clients have seen of this one is no longer
    /// what the bus has.
    private func note(_ lack: ReplicaLack) {
        self.lack = lack
        guard engine != nil else { return }
        guard member.replica.hasBegun else {
            return giveUp(
                StartFailure(
                    .configuration,
                    "The etcd of the bus \(settings.bus.value) no longer has what came before place \(lack.least), so no bus can begin there. If the bus has other members, take a copy from one of them: fluxbus cluster rescue replace --yes. Otherwise use a new etcd, without auto-compaction."
                ))
        }
        let reason =
            lack.most == nil
            ? "the shared log no longer has what comes after this copy"
            : "the shared log lacks what this copy has, after place \(lack.most ?? 0)"
        guard discard(DiscardedCopy(most: lack.most, reason: reason)) else { return }
        giveUp(
            StartFailure(
                .beginsAgain,
                "This member takes another copy of the bus: \(reason)."))
    }

    private func end(_ stop: MemberStop) {
        logger.critical("\(stop.message)", metadata: LogKind.diverged.metadata)
        switch stop {
        case .diverged(_, let isOdd):
            let wrong = DiscardedCopy(most: nil, isWrong: true, reason: "it differs from the others")
            if isOdd, !discard(wrong) { return }
            giveUp(StartFailure(.diverged, stop.message))
        case .newerRules: giveUp(StartFailure(.inUse, stop.message))
        }
    }
}
