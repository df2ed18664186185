import BusCluster
import BusEngine
import BusJSON
import BusMachine

/// The member of a shared bus that a `MemoryBus` is: its replica, and its end of a shared log in memory, as the daemon's
/// cluster coordinator has them. The log loses nothing and answers at once, so that a request has its reply when the bus is at rest.
final class MemoryMember {
    private let log: SimulatedLog
    private let shared: SharedLog
    private let member: ClusterMember
    private let commits: SharedCommits
    private weak var engine: Engine?
    /// What the member or its bus gave up for: a test that gets here is broken, or has found a fault.
    private(set) var failure: String?
    private var submitted: [(entry: ClusterEntry, ticket: Int)] = []
    private var barriers: [Int] = []
    private var now: Int

    private static let name = "memory"
    /// How far its time may go on at once, in milliseconds: less than the lease of a member.
    static let longestStep = 500

    init(_ configuration: EngineConfiguration, _ loaded: LoadedDefinitions, epoch: String, now: Int) {
        self.now = now
        shared = SharedLog(seed: 1, now: now)
        shared.isFaulty = false
        shared.isImmediate = true
        log = SimulatedLog(shared, seed: 2)
        let machine = StateMachine(types: [], epoch: "", hashSeed: configuration.hashSeed)
        machine.knownTypes = configuration.knownTypes
        commits = SharedCommits(machine)
        member = ClusterMember(
            name: Self.name, replica: Replica(machine, isNew: true, sink: commits), now: now)
        machine.member = Self.name
        settle { !(self.member.isCaughtUp && self.member.canPropose) }
        let beginning = BusBeginning(epoch: epoch, revision: 0, digest: machine.stateDigest)
        submit(
            ClusterEntry(
                session: 0, by: ClusterEntry.daemon, isOperator: true,
                .configure(loaded.entry(beginning: beginning))), ticket: 0)
        settle { !self.member.replica.hasBegun }
    }

    var machine: StateMachine { member.replica.machine }

    /// From now on the engine makes the commits.
    func serve(with engine: Engine) {
        self.engine = engine
        engine.share(commits, condition: ["bus": "memory", "member": .string(Self.name), "attached": true])
    }

    func submit(_ entry: ClusterEntry, ticket: Int) { submitted.append((entry, ticket)) }
    func sync(ticket: Int) { barriers.append(ticket) }
    func answer(_ query: ClusterQuery) {
        engine?.answer(query, with: .failure(ClusterRefusal("A bus in memory has no other members.")))
    }

    /// Everything applied up to a place is on disk.
    func stored(through place: Int) {
        member.stored(through: place, now: now)
        perform()
    }

    /// Passes on what was submitted and takes what the log delivers; true if there was anything.
    func work(at now: Int) -> Bool {
        self.now = now
        shared.advance(to: now)
        member.tick(now: now)
        var isBusy = perform()
        if !submitted.isEmpty || !barriers.isEmpty {
            let (entries, tickets) = (submitted, barriers)
            (submitted, barriers) = ([], [])
            member.submit(entries, now: now)
            for ticket in tickets { member.sync(ticket: ticket, now: now) }
            isBusy = true
        }
        if perform() { isBusy = true }
        log.step()
        let events = log.take()
        if !events.isEmpty {
            member.receive(events, now: now)
            isBusy = true
        }
        return perform() || isBusy
    }

    /// Before there is an engine: works until something has come about.
    private func settle(while isMissing: () -> Bool) {
        for _ in 0..<100 where isMissing() && failure == nil {
            _ = work(at: now)
            member.stored(through: member.replica.link.place, now: now)
        }
        precondition(!isMissing() && failure == nil, "The bus in memory begins: \(failure ?? "it does not").")
    }

    @discardableResult
    private func perform() -> Bool {
        let outputs = member.takeOutputs()
        for output in outputs { perform(output) }
        return !outputs.isEmpty
    }

    private func perform(_ output: MemberOutput) {
        switch output {
        case .read(let place, let cluster): log.read(behind: place, of: cluster)
        case .join(let report): log.join(as: Self.name, report: report)
        case .propose(let name, let content): log.propose(name, content)
        case .barrier(let number): log.barrier(number)
        case .report(let report): log.report(report)
        case .leave: log.leave()
        case .end(let name, let incarnation): log.end(name, incarnation: incarnation)
        case .trim(let place): log.trim(through: place)
        case .applied(let entry, let applied): engine?.noteApplied(entry.encoded, at: applied.link.place)
        case .answered(let ticket, let outcome): engine?.resolve(ticket, .outcome(outcome))
        case .failed(let ticket, let failure): engine?.resolve(ticket, .failed(failure))
        case .synced(let ticket, _): engine?.resolve(ticket, .synced)
        case .remember, .rememberProof, .notice: break
        case .needsReplica: failure = failure ?? "the member lacks a replica"
        case .stopped(let stop): failure = failure ?? stop.message
        }
    }
}
