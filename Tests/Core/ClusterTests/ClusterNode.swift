import BusCluster
import BusMachine
import TestSupport

/// One machine of the simulated bus: a member with its end of the log, its disk and its clock.
final class ClusterNode {
    let name: String
    let build: ClusterBuild
    /// Its clock is so far ahead, in milliseconds, while nobody sets it back.
    private let clockLead: Int
    /// By how much its clock was set back, in milliseconds.
    var setBack = 0
    private(set) var member: ClusterMember?
    private(set) var log: SimulatedLog?
    var disk = ClusterDisk()
    /// Applied, and not durable yet.
    private var pending: [OrderedEntry] = []
    private(set) var stops: [MemberStop] = []
    private(set) var notices: [MemberNotice] = []
    var lack: ReplicaLack? { didSet { barrier = nil } }
    private var barrier: (place: Int, rollbacks: Int)?
    /// Its replica is another than its copy has, which stays as it is until it has all that the log has.
    private var isTentative = false
    /// The member that it reads through.
    weak var relay: ClusterNode?
    /// What clients are told.
    var told: [MemberOutput] = []
    /// When it last lacked a replica, by the log's time: it ends its own sessions then.
    private(set) var lacked = 0

    /// How far it is with handing its sessions over; nil: it does not restart.
    var handOver: HandOver?
    /// When it no longer waits for that.
    var handOverEnd = 0
    let unruly: HandOverRules

    let shared: SharedLog
    private let omitted: OmittedRules
    var generator: SeededGenerator

    init(
        _ name: String, _ shared: SharedLog, seed: UInt64, build: ClusterBuild, clockLead: Int,
        omitting omitted: OmittedRules, _ unruly: HandOverRules = []
    ) {
        self.name = name
        self.shared = shared
        self.build = build
        self.clockLead = clockLead
        self.omitted = omitted
        self.unruly = unruly
        generator = SeededGenerator(seed: seed)
    }

    var now: Int { shared.now + clockLead - setBack }
    var isUp: Bool { member != nil }
    var isStopped: Bool { !stops.isEmpty }

    /// Whether something that was applied is not durable.
    var hasUnstored: Bool { !pending.isEmpty || isTentative }

    /// - Parameter resumes: It goes on as the member that the process before it was.
    func start(resumes: Bool = false) throws {
        let replica = try disk.replica(through: .max, build: build, omitting: omitted)!
        let log = SimulatedLog(shared, seed: generator.next())
        log.relay = { [weak relay] in relay?.log }
        self.log = log
        member = ClusterMember(
            name: name, replica: replica, cluster: disk.lastPlace == 0 ? nil : cluster,
            incarnation: disk.incarnation, proof: disk.proof, resumes: resumes, now: now,
            omitting: omitted)
        try carryOut()
    }

    private var cluster: String?

    /// The process is killed, or the machine loses its power.
    func crash() {
        cluster = member?.cluster ?? cluster
        (member, pending, lack, isTentative, handOver) = (nil, [], nil, false, nil)
        log?.close()
        log = nil
    }

    func step() throws {
        guard let member, let log, !isStopped, !log.isFrozen else { return }
        log.step()
        if case .passing = handOver { return leaveIfPassed(log.take()) }
        member.receive(log.take(), now: now)
        try carryOut()
        if generator.oneIn(shared.isFaulty ? 5 : 1) { try flush() }
        member.tick(now: now)
        try carryOut()
        try passIfAtRest()
    }

    /// Everything applied becomes durable.
    func flush() throws {
        guard let member else { return }
        if isTentative {
            guard member.isCaughtUp, member.replica.hasBegun, member.proof == nil else { return }
            (pending, isTentative) = ([], false)
            disk.replace(by: member.replica)
            member.stored(through: disk.lastPlace, now: now)
            return try carryOut()
        }
        if pending.isEmpty { return }
        disk.append(pending, member.replica)
        pending = []
        member.stored(through: disk.lastPlace, now: now)
        try carryOut()
    }

    func submit(_ entry: ClusterEntry, _ ticket: Int) throws {
        member?.submit(entry, ticket: ticket, now: now)
        try carryOut()
    }

    func sync(_ ticket: Int) throws {
        member?.sync(ticket: ticket, now: now)
        try carryOut()
    }

    func carryOut() throws {
        guard let member, let log else { return }
        for output in member.takeOutputs() {
            switch output {
            case .read(let place, let cluster): log.read(behind: place, of: cluster)
            case .join(let report): log.join(as: name, report: report)
            case .propose(let name, let content):
                try requireSame(content, as: name)
                log.propose(name, content)
            case .barrier(let number): log.barrier(number)
            case .report(let report): log.report(report)
            case .leave: log.leave()
            case .end(let member, let incarnation): log.end(member, incarnation: incarnation)
            case .trim(let place): log.trim(through: place)
            case .applied(let entry, _): pending.append(entry)
            case .remember(let incarnation): disk.incarnation = incarnation
            case .rememberProof(let proof): disk.proof = proof
            case .needsReplica(let lack): (self.lack, lacked) = (lack, shared.now)
            case .answered, .failed, .synced: told.append(output)
            case .notice(let notice): notices.append(notice)
            case .stopped(let stop): stops.append(stop)
            }
        }
    }

    /// A name stands for one proposal. If two had one name, a member would take the outcome of one for that of the other.
    private func requireSame(_ content: [UInt8], as name: ProposalName) throws {
        guard !omitted.contains(.sameAgain), let known = shared.content(of: name), known != content else {
            return
        }
        throw SimulationFailure("\(name) is in the log already, with something else in it.")
    }

    // MARK: - Replicas

    /// Where the log stood when it asked others for a snapshot; asked again when the log goes back.
    func barrierOfSnapshot(behind place: Int) -> Int {
        if barrier?.rollbacks != shared.rollbacks { barrier = (place, shared.rollbacks) }
        return barrier!.place
    }

    /// Gets the replica that it lacks: an older one of its own, a snapshot of another node, or what the log has from its
    /// beginning; where nobody has one, the bus starts over.
    func getReplica(from others: [ClusterNode]) throws {
        guard let lack, let member else { return }
        if let most = lack.most {
            pending = []
            if let own = try disk.replica(
                through: lack.wanted ?? most, build: build, omitting: omitted)
                ?? disk.oldest(through: most, build: build, omitting: omitted)
            {
                return try begin(member, own)
            }
        }
        log?.listMembers()
        if let other = others.randomElement(using: &generator) {
            try other.flush()
            guard let replica = other.member?.replica else { return }
            var bytes = replica.snapshot()
            if shared.isFaulty, generator.oneIn(4) {
                // What was damaged on the way is refused, and fetched again.
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
                guard let damaged = try? ClusterDisk.restored(bytes, build: build, omitting: omitted) else {
                    return
                }
                throw SimulationFailure("A damaged snapshot was taken: \(damaged.digest)")
            }
            return try begin(
                member, try ClusterDisk.restored(bytes, build: build, omitting: omitted), isFromMember: true)
        }
        let present = shared.members.filter { $0.name != name }
        if lack.most != nil {
            return try begin(
                member, Replica(try build.machine(), history: ClusterSimulation.history, omitting: omitted))
        }
        guard ClusterMember.canBeginAnew(beside: present),
            let last = try disk.replica(through: .max, build: build, omitting: omitted), last.hasBegun
        else { return }
        (self.lack, pending, isTentative) = (nil, [], true)
        member.beginAnew(with: last, behind: lack.least, now: now)
        try carryOut()
    }

    private func begin(_ member: ClusterMember, _ replica: Replica, isFromMember: Bool = false) throws {
        (lack, pending, isTentative) = (nil, [], true)
        member.begin(with: replica, isFromMember: isFromMember, now: now)
        try carryOut()
    }
}

struct SimulationFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
