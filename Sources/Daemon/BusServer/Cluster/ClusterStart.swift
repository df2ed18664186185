import BusCluster
import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusMachine
import BusSource
import EtcdLog
import Logging
import Systemd

/// Starts a member of a bus over several machines: from its local copy, or, where there is none that will do, from the
/// shared log and other members' snapshots.
struct ClusterStart {
    let settings: ClusterSettings
    let log: LogSettings
    let configuration: EngineConfiguration
    let types: [any StateType]
    /// The bus is to begin with this machine's own history.
    let bringsHistory: Bool
    let service: Service
    let logger: Logger
    let bell: EventFD
    /// Whether the start is to be given up.
    let isEnding: () -> Bool

    struct Outcome {
        let start: LogStart.Outcome
        let coordinator: ClusterCoordinator
        let snapshots: ReplicaSnapshots
    }

    func open() throws(StartFailure) -> Outcome {
        let shared = try openSharedLog()
        do throws(StartFailure) {
            let copy = try located { () throws(LogFailure) in try openCopy() }
            let replica = copy.replica ?? LocalCopy.blank(knowing: configuration.knownTypes, hashSeed: seed)
            let file = CopyFile(copy.file)
            let member = try located { () throws(LogFailure) in try self.member(replica, copy.file) }
            let coordinator = ClusterCoordinator(member, shared, file, settings, bell, logger)
            if copy.isNew { try begin(coordinator) }
            return try located { () throws(LogFailure) in try serve(coordinator, copy, file) }
        } catch {
            shared.close()
            throw error
        }
    }

    private var seed: UInt64 { configuration.hashSeed }

    private func openSharedLog() throws(StartFailure) -> EtcdLog {
        var errors = ConfigurationErrors()
        let password = settings.password(&errors)
        try errors.throwIfAny()
        do throws(OrderedLogFailure) {
            return try EtcdLog(settings.etcdSettings(password: password ?? "")) { [bell] in bell.ring() }
        } catch {
            throw StartFailure(.configuration, error.message)
        }
    }

    private func located<Value>(_ body: () throws(LogFailure) -> Value) throws(StartFailure) -> Value {
        do throws(LogFailure) {
            return try body()
        } catch {
            throw StartFailure(
                LogStart.code(of: error), SourceError(error.message, at: log.path.place).description)
        }
    }

    // MARK: - The copy

    private struct Copy {
        let file: LogFile
        /// Nil: nothing is here yet.
        let replica: Replica?
        /// What the file is to hold is not known before the shared log has been read.
        let isNew: Bool
    }

    private func openCopy() throws(LogFailure) -> Copy {
        let path = log.path.value
        try LogFile.finishGivingWay(at: path)
        let file = try LogFile(path: path, sync: log.sync, bootID: BootID.read())
        for notice in file.notices { logger.error("\(notice)", metadata: LogKind.logTrouble.metadata) }
        guard let owner = file.copyOf else { return try firstCopy(file) }
        guard owner.bus == settings.bus.value, owner.member == settings.member else {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) is the copy of the member \(owner.member) of the bus \(owner.bus); name another file, or set cluster: right."
            )
        }
        if let text = try file.recall(.discard), let discarded = DiscardedCopy(text) {
            return try setAside(file, discarded)
        }
        let replica = try LocalCopy.replica(
            in: path, knowing: configuration.knownTypes, hashSeed: seed, isWhole: false)
        if file.epoch == nil { return Copy(file: file, replica: replica, isNew: true) }
        guard let replica, replica.machine.revision == file.lastRevision else {
            throw LogFailure(
                .damaged, path: path,
                "The copy of the bus in \(path) is not whole; move the file away, and this member takes one from the others."
            )
        }
        return Copy(file: file, replica: replica, isNew: false)
    }

    /// The file is no copy yet: it is new, or has the history of this machine alone.
    private func firstCopy(_ file: LogFile) throws(LogFailure) -> Copy {
        let path = log.path.value
        if try LogStart.isNew(file) {
            try file.becomeCopy(ofBus: settings.bus.value, member: settings.member)
            return Copy(file: file, replica: nil, isNew: true)
        }
        guard bringsHistory else {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) has the history of this machine alone; start once with --cluster-init to begin the bus \(settings.bus.value) with it, or name a new file."
            )
        }
        let machine: StateMachine
        do throws(PastFailure) {
            machine = try Replayer(
                knowing: configuration.knownTypes, epoch: file.epoch ?? "", hashSeed: seed
            ).machine(from: try LogPast(path: path))
        } catch {
            throw LogFailure(.damaged, path: path, error.message)
        }
        machine.epoch = file.epoch ?? machine.epoch
        machine.knownTypes = configuration.knownTypes
        machine.limits = configuration.limits.effective
        let replica = Replica(machine, isNew: true, sink: SharedCommits(machine))
        try file.becomeCopy(ofBus: settings.bus.value, member: settings.member)
        try ReplicaSnapshots.write(replica.snapshot(), at: 0) { (body) throws(LogFailure) in try body(file) }
        return Copy(file: file, replica: replica, isNew: false)
    }

    /// Another file takes the place of a copy that can't go on. What is known of this member, and of what was lost, goes
    /// along; so does what the copy has of the time before.
    private func setAside(_ file: LogFile, _ discarded: DiscardedCopy) throws(LogFailure) -> Copy {
        let path = log.path.value
        var own: Replica?
        if let most = discarded.most {
            own = try LocalCopy.replica(
                in: path, through: most, knowing: configuration.knownTypes, hashSeed: seed, isWhole: false)
        }
        let next = try LogFile(path: LogFile.next(of: path), sync: log.sync, bootID: BootID.read())
        try next.becomeCopy(ofBus: settings.bus.value, member: settings.member)
        for fact in [CopyFact.incarnation, .proof, .cluster] {
            try next.remember(fact, try file.recall(fact))
        }
        if let own {
            try ReplicaSnapshots.write(own.snapshot(), at: own.link.place) { (body) throws(LogFailure) in
                try body(next)
            }
        }
        try next.close()
        let aside = try file.giveWay()
        logger.error(
            "this member takes another copy of the bus, because \(discarded.reason); what it had is kept as \(aside)",
            metadata: LogKind.otherCopy.metadata)
        return Copy(
            file: try LogFile(path: path, sync: log.sync, bootID: BootID.read()), replica: own, isNew: true)
    }

    private func member(_ replica: Replica, _ file: LogFile) throws(LogFailure) -> ClusterMember {
        let proof = try file.recall(.proof).flatMap { Evidence(LocalCopy.bytes($0)) }
        return ClusterMember(
            name: settings.member, replica: replica,
            cluster: replica.link.place == 0 ? nil : try file.recall(.cluster),
            incarnation: try file.recall(.incarnation).flatMap { Int($0) } ?? 0, proof: proof,
            about: .init(version: Version.text, address: settings.advertise ?? ""), now: WallClock.now)
    }

    // MARK: - A new copy

    /// Waits until the bus has begun and what the log holds is here.
    private func begin(_ coordinator: ClusterCoordinator) throws(StartFailure) {
        let wait = ClusterWait(coordinator, service, bell, isEnding)
        let beginning = ClusterBeginning(coordinator, configuration, types)
        let source = ReplicaSource(settings: settings, types: configuration.knownTypes, hashSeed: seed)
        let had = LogFile.aside(of: log.path.value)
        var told: Set<String> = []
        var isAsking = false
        try wait.until { () throws(StartFailure) in
            if let lack = coordinator.lack {
                guard isAsking else {
                    coordinator.askMembers()
                    isAsking = true
                    return false
                }
                guard let members = coordinator.listed else { return false }
                isAsking = false
                let replica = source.replica(from: members, least: lack.least) { [logger] reason in
                    guard told.insert(reason).inserted else { return }
                    logger.warning("\(reason)", metadata: LogKind.otherCopy.metadata)
                }
                if let replica, replica.link.place <= lack.most ?? .max {
                    coordinator.begin(with: replica, isFromMember: true)
                } else if lack.most != nil {
                    // What the log still has may do from its beginning.
                    coordinator.begin(
                        with: LocalCopy.blank(knowing: configuration.knownTypes, hashSeed: seed),
                        isFromMember: false)
                } else {
                    wait.pause()
                }
                return false
            }
            let (member, replica) = (coordinator.member, coordinator.member.replica)
            if let had, member.isCaughtUp, !replica.hasBegun { throw emptyLog(had) }
            beginning.offerIfDue()
            return member.isCaughtUp && replica.hasBegun
        }
    }

    /// Nobody wants an empty bus in the place of one that this member has had.
    private func emptyLog(_ had: String) -> StartFailure {
        StartFailure(
            .configuration,
            SourceError(
                "The shared log of the bus \(settings.bus.value) is empty, and this member has had the bus: it is in \(had). Restore etcd from a backup, or name the right one; or make that file a bus of its own with --restore \(had), and begin the bus with it by --cluster-init; or move it away, to begin an empty bus.",
                at: settings.place
            ).description)
    }

    // MARK: - Serving

    private func serve(
        _ coordinator: ClusterCoordinator, _ copy: Copy, _ copyFile: CopyFile
    ) throws(LogFailure) -> Outcome {
        let (file, replica) = (copy.file, coordinator.member.replica)
        guard let commits = replica.sink as? SharedCommits else {
            preconditionFailure("A replica of a member has commits for its engine.")
        }
        replica.machine.member = settings.member
        let engine = Engine(configuration, replica.machine, isShared: true)
        try file.begin(epoch: engine.epoch)
        let mailbox = LogMailbox(bell)
        let writer = LogWriter(file, log.sync, mailbox)
        copyFile.hand(to: writer)
        let ending = Ending()
        let snapshots = ReplicaSnapshots(
            writer, path: log.path.value, types: configuration.knownTypes, hashSeed: seed, ending, logger)
        var last = (revision: engine.revision, bytes: 0)
        if copy.isNew {
            last.bytes = try Snapshots(writer, mailbox, log.retain).write(
                engine.snapshot(), at: engine.revision)
            try ReplicaSnapshots.write(replica.snapshot(), at: replica.link.place) {
                (body) throws(LogFailure) in
                try writer.withFile(body)
            }
        } else if let newest = try LogReader(path: file.path).snapshots().first {
            last = (newest.revision, newest.bytes)
        }
        engine.beginLogging()
        coordinator.serve(with: engine, commits)
        coordinator.stored(through: replica.link.place)
        let replayer = Replayer(
            knowing: configuration.knownTypes, epoch: engine.epoch, hashSeed: seed,
            isWanted: { !ending.hasBegun })
        return Outcome(
            start: LogStart.Outcome(
                engine: engine, writer: writer, mailbox: mailbox,
                recipe: Snapshots.Recipe(replayer: replayer, ending: ending), lastSnapshot: last,
                hasTakenOver: false),
            coordinator: coordinator, snapshots: snapshots)
    }
}
