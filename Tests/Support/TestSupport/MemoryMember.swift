import BusCluster
import BusEngine
import BusJSON
import BusLogic
import BusMachine

/// The member of a shared bus that a `MemoryBus` is: its replica, and its end of a shared log in memory, as the daemon's
/// cluster coordinator has them. The log loses nothing and answers at once, so that a request has its reply when the bus is at rest.
package final class MemoryMember {
    private let log: SimulatedLog
    private let shared: SharedLog
    private let member: ClusterMember
    private let commits: SharedCommits
    private weak var engine: Engine?
    /// What the member or its bus gave up for: a test that gets here is broken, or has found a fault.
    package private(set) var failure: String?
    private var submitted: [(entry: ClusterEntry, ticket: Int, user: Int)] = []
    private var barriers: [Int] = []
    private var now: Int

    private static let name = "memory"
    /// How far its time may go on at once, in milliseconds: less than the lease of a member.
    package static let longestStep = 500

    /// A member that goes on from its copy of the bus. With an empty one it has what a bus of one machine begins with, so
    /// that the first commit is as there revision 1; how a bus begins in its log is what `ClusterTests` try.
    package init(
        _ configuration: EngineConfiguration, types: [any StateType], _ copy: MemoryLog, now: Int
    ) throws {
        BusMode.count?.add()
        shared = copy.shared ?? SharedLog(now: now)
        copy.shared = shared
        log = SimulatedLog(shared, seed: 2)
        let replica =
            copy.replica.isEmpty
            ? Self.beginning(configuration, types) : try Self.replica(of: copy, configuration)
        guard let commits = replica.sink as? SharedCommits else {
            preconditionFailure("A replica of a member has commits for its engine.")
        }
        self.commits = commits
        replica.machine.member = Self.name
        self.now = max(now, replica.machine.time)
        let before = shared.members.first { $0.name == Self.name }
        member = ClusterMember(
            name: Self.name, replica: replica, incarnation: before?.incarnation ?? 0, now: self.now)
        if copy.replica.isEmpty { copy.replica = replica.snapshot() }
    }

    private static func beginning(_ configuration: EngineConfiguration, _ types: [any StateType]) -> Replica {
        let machine = StateMachine(
            types: types, epoch: configuration.epoch, limits: configuration.limits.effective,
            hashSeed: configuration.hashSeed)
        machine.knownTypes = configuration.knownTypes
        machine.beginAccess(configuration.access)
        return Replica(machine, sink: SharedCommits(machine))
    }

    private static func replica(of copy: MemoryLog, _ configuration: EngineConfiguration) throws -> Replica {
        let replica = try copy.replica.withUnsafeBytes {
            try Replica(
                restoring: $0, knowing: configuration.knownTypes, hashSeed: configuration.hashSeed
            ) { SharedCommits($0) }
        }
        for entry in OrderedEntry.decode(all: copy.sharedEntries)! { _ = try replica.apply(entry) }
        return replica
    }

    package var machine: StateMachine { member.replica.machine }

    /// Whether it has come to the end of the shared log, and its clients' requests go there.
    package var hasBegun: Bool { member.isCaughtUp && member.canPropose }

    /// From now on the engine makes the commits.
    package func serve(with engine: Engine) {
        self.engine = engine
        engine.share(commits, condition: ["bus": "memory", "member": .string(Self.name), "attached": true]) {
            $0 == "member's"
        }
    }

    package func submit(_ entry: ClusterEntry, ticket: Int, user: Int) {
        submitted.append((entry, ticket, user))
    }
    package func sync(ticket: Int) { barriers.append(ticket) }
    func answer(_ query: ClusterQuery) {
        engine?.answer(query, with: .failure(ClusterRefusal("A bus in memory has no other members.")))
    }

    /// Everything applied up to a place is on disk.
    package func stored(through place: Int) {
        member.stored(through: place, now: now)
        perform()
    }

    /// Passes on what was submitted and takes what the log delivers; true if there was anything.
    package func work(at now: Int) -> Bool {
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
        case .answered(let ticket, let outcome, let spent):
            engine?.resolve(ticket, .outcome(outcome, spent: spent))
        case .failed(let ticket, let failure): engine?.resolve(ticket, .failed(failure))
        case .synced(let ticket, _): engine?.resolve(ticket, .synced)
        case .remember, .rememberProof, .notice: break
        case .needsReplica: failure = failure ?? "the member lacks a replica"
        case .stopped(let stop): failure = failure ?? stop.message
        }
    }
}
