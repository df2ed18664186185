import BusCluster
import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusMachine
import BusProtocol
import BusSource
import BusSystem
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
    private let tokens = MemberTokens()

    struct Outcome {
        let start: LogStart.Outcome
        let coordinator: ClusterCoordinator
        let snapshots: ReplicaSnapshots
        /// Why clients of the previous process could not be taken over; nil: they were, or there are none.
        let notTakenOver: String?
    }

    /// Goes on as the member that the previous process was, with its clients, where it has handed them over and the copy here
    /// is at the place where it left off.
    func open(_ inheritance: Inheritance?) throws(StartFailure) -> Outcome {
        let shared = try openSharedLog()
        do throws(StartFailure) {
            let (file, copy) = try located { () throws(LogFailure) in
                let file = try CopyFile(log)
                return (file, try file.use(openCopy))
            }
            let brought = copy.isHistory ? try bring(file) : nil
            let replica =
                brought ?? copy.replica ?? LocalCopy.blank(knowing: configuration.knownTypes, hashSeed: seed)
            let passed = inheritance?.summary.member
            let isAsLeft = !copy.isNew && passed?.place == replica.link.place
            let member = try located { () throws(LogFailure) in
                try file.use { (file) throws(LogFailure) in
                    try self.member(replica, file, resumes: isAsLeft)
                }
            }
            let coordinator = ClusterCoordinator(member, shared, file, settings, tokens, bell, logger)
            if let passed, isAsLeft { coordinator.resume(passed) }
            if copy.isNew { try begin(coordinator, copy) }
            return try located { () throws(LogFailure) in
                try serve(coordinator, copy, file, inheritance, isAsLeft: isAsLeft)
            }
        } catch {
            // It may have joined already, and its next start may no longer know as which incarnation. A lease that was passed
            // on is for that start, too.
            if inheritance?.summary.member == nil { shared.leave() }
            shared.close()
            throw error
        }
    }

    private var seed: UInt64 { configuration.hashSeed }

    private func password() throws(StartFailure) -> String {
        var errors = ConfigurationErrors()
        let password = settings.password(&errors)
        try errors.throwIfAny()
        return password ?? ""
    }

    private func openSharedLog() throws(StartFailure) -> EtcdLog {
        let password = try password()
        do throws(OrderedLogFailure) {
            var etcd = settings.etcdSettings(password: password)
            etcd.relays = settings.from.map { [settings, tokens] address in
                Relay(address: address.value) { () throws(OrderedLogFailure) in
                    try RelayConnection(to: address.value, settings, tokens)
                }
            }
            return try EtcdLog(etcd) { [bell] in bell.ring() }
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
        /// Nil: nothing is here yet.
        var replica: Replica?
        /// What the file is to hold is not known before the shared log has been read.
        var isNew = false
        /// Why the file gives way to another, once there is one.
        var givesWay: DiscardedCopy?
        /// The file is no copy yet, and has the history with which the bus is to begin.
        var isHistory = false
    }

    private func openCopy(_ file: LogFile) throws(LogFailure) -> Copy {
        let path = log.path.value
        for notice in file.notices { logger.error("\(notice)", metadata: LogKind.logTrouble.metadata) }
        guard let owner = file.copyOf else { return try firstCopy(file) }
        guard owner.bus == settings.bus.value, owner.member == settings.member else {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) is the copy of the member \(owner.member) of the bus \(owner.bus); name another file, or set cluster: right."
            )
        }
        if let text = try file.recall(.discard), let discarded = DiscardedCopy(text) {
            // What it has of the time before may do.
            return Copy(
                replica: try discarded.most.flatMap { most throws(LogFailure) in try own(through: most) },
                isNew: true, givesWay: discarded)
        }
        let replica = try LocalCopy.replica(
            in: path, knowing: configuration.knownTypes, hashSeed: seed, isWhole: false)
        if file.epoch == nil, replica == nil { return Copy(isNew: true) }
        if file.epoch != nil, let replica, replica.machine.revision == file.lastRevision {
            return Copy(replica: replica)
        }
        // An earlier start was cut short before it had written all of it.
        return Copy(
            replica: replica, isNew: true,
            givesWay: DiscardedCopy(most: nil, reason: "what was here is not whole"))
    }

    /// The replica as it was at a place at the latest, by what this machine has: its copy, or one that gave way to that; nil
    /// where none goes back so far.
    ///
    /// - Parameter isOldest: As early as the newest of these has it.
    private func own(through most: Int, isOldest: Bool = false) throws(LogFailure) -> Replica? {
        for path in [log.path.value] + asides {
            do throws(LogFailure) {
                let replica = try LocalCopy.replica(
                    in: path, through: most, isOldest: isOldest, knowing: configuration.knownTypes,
                    hashSeed: seed, isWhole: false
                )
                if let replica { return replica }
            } catch {
                logger.warning("\(error.message)", metadata: LogKind.otherCopy.metadata)
            }
        }
        return nil
    }

    /// The copies of this bus that were moved aside, the last one first. One that can't be read may be one.
    private var asides: [String] {
        LogFile.allAside(of: log.path.value).filter { isCopy($0) != false }
    }

    /// Whether a file is a copy of this bus; nil where it can't be read.
    private func isCopy(_ path: String) -> Bool? {
        try? LogReader(standing: path).copyOf() == settings.bus.value
    }

    /// The file is no copy yet: it is new, or has the history of this machine alone.
    private func firstCopy(_ file: LogFile) throws(LogFailure) -> Copy {
        let path = log.path.value
        if try LogStart.isNew(file) {
            try file.becomeCopy(ofBus: settings.bus.value, member: settings.member)
            return Copy(isNew: true)
        }
        guard bringsHistory else {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) has the history of this machine alone; start once with --cluster-init to begin the bus \(settings.bus.value) with it, or name a new file."
            )
        }
        return Copy(isHistory: true)
    }

    /// Makes the history of this machine the copy with which the bus begins. Where the bus has begun, the file stays this
    /// machine's own.
    private func bring(_ file: CopyFile) throws(StartFailure) -> Replica {
        if try SharedLogSight(of: settings, password: password()).hasBus {
            throw StartFailure(
                .configuration,
                SourceError(
                    "The bus \(settings.bus.value) has begun already, so it can't begin with the history in \(log.path.value), which stays as it is; start without --cluster-init and with a new log file to join the bus, or name another bus.",
                    at: settings.place
                ).description)
        }
        return try located { () throws(LogFailure) in
            try file.use { (file) throws(LogFailure) in
                try Self.bring(
                    file, settings, knowing: configuration.knownTypes, limits: configuration.limits,
                    hashSeed: seed)
            }
        }
    }

    /// Makes a log that has the history of one machine the copy with which the bus begins.
    static func bring(
        _ file: LogFile, _ settings: ClusterSettings, knowing types: [any StateType], limits: Limits,
        hashSeed: UInt64
    ) throws(LogFailure) -> Replica {
        let path = file.path
        let machine: StateMachine
        do throws(PastFailure) {
            machine = try Replayer(knowing: types, epoch: file.epoch ?? "", hashSeed: hashSeed)
                .machine(from: try LogPast(path: path))
        } catch {
            throw LogFailure(.damaged, path: path, error.message)
        }
        guard machine.liveTypes.allSatisfy({ $0.kept == .all }) else {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) does not keep all types whole, as their definitions say under log:, and members of a bus need whole ones; start once without cluster: and with keep: all in all types, then with --cluster-init."
            )
        }
        machine.epoch = file.epoch ?? machine.epoch
        machine.knownTypes = types
        machine.limits = limits.effective
        machine.moveUsers(to: settings.member)
        let snapshot = Replica(machine, isNew: true, sink: SharedCommits(machine)).snapshot()
        try file.becomeCopy(ofBus: settings.bus.value, member: settings.member)
        try ReplicaSnapshots.write(snapshot, at: 0) { (body) throws(LogFailure) in try body(file) }
        // All members begin with the same.
        return try LocalCopy.restored(snapshot, path, knowing: types, hashSeed: hashSeed)
    }

    private func member(
        _ replica: Replica, _ file: LogFile, resumes: Bool
    ) throws(LogFailure) -> ClusterMember {
        let proof = try file.recall(.proof).flatMap { Evidence(LocalCopy.bytes($0)) }
        return ClusterMember(
            name: settings.member, replica: replica,
            cluster: replica.link.place == 0 ? nil : try file.recall(.cluster),
            incarnation: try file.recall(.incarnation).flatMap { Int($0) } ?? 0, proof: proof,
            about: .init(
                version: Version.text, address: settings.advertise ?? "", token: UUIDText.random()),
            resumes: resumes,
            now: WallClock.now)
    }

    // MARK: - A new copy

    /// Waits until the bus has begun and what the log holds is here.
    private func begin(_ coordinator: ClusterCoordinator, _ copy: Copy) throws(StartFailure) {
        let wait = ClusterWait(coordinator, service, bell, isEnding)
        let beginning = ClusterBeginning(coordinator, configuration, types)
        let had = copy.givesWay == nil ? asides.first : log.path.value
        var search = ReplicaSearch(
            source: ReplicaSource(settings: settings, types: configuration.knownTypes, hashSeed: seed),
            bell: bell, logger: logger)
        try wait.until { () throws(StartFailure) in
            if let lack = coordinator.lack {
                let found = try located { () throws(LogFailure) in
                    try search.replica(
                        lack, coordinator,
                        { (wanted, most) throws(LogFailure) in
                            if let replica = try own(through: wanted) { return replica }
                            return try own(through: most, isOldest: true)
                        })
                }
                switch found {
                case .own(let replica): coordinator.begin(with: replica, isFromMember: false)
                case .member(let replica): coordinator.begin(with: replica, isFromMember: true)
                case .nobody where lack.most != nil:
                    // What the log still has may do from its beginning.
                    coordinator.begin(
                        with: LocalCopy.blank(knowing: configuration.knownTypes, hashSeed: seed),
                        isFromMember: false)
                case .nobody(let mayBeginAnew):
                    guard mayBeginAnew, copy.givesWay?.isWrong == false,
                        let last = try located({ () throws(LogFailure) in try own(through: .max) }),
                        last.hasBegun
                    else {
                        wait.pause()
                        return false
                    }
                    coordinator.beginAnew(with: last, behind: lack.least)
                case nil: break
                }
                return false
            }
            let (member, replica) = (coordinator.member, coordinator.member.replica)
            if replica.machine.revision == 0 {
                if let had, member.isCaughtUp, !replica.hasBegun { throw emptyLog(had) }
                beginning.offerIfDue()
            }
            // What this member has seen of a log that lost it begins a new epoch, and no client is to see the one before.
            return member.isCaughtUp && replica.hasBegun && member.proof == nil
        }
    }

    /// Nobody wants an empty bus in the place of one that this member has had.
    private func emptyLog(_ had: String) -> StartFailure {
        let found =
            isCopy(had) == nil
            ? "a copy that can't be read lies at \(had); move it away if it is of another bus"
            : "this member has had the bus: it is in \(had)"
        return StartFailure(
            .configuration,
            SourceError(
                "The shared log of the bus \(settings.bus.value) is empty, and \(found). Restore etcd from a backup, or name the right one; or begin the bus there with this copy, by fluxbus cluster rescue begin; or move it away, to begin an empty bus.",
                at: settings.place
            ).description)
    }

    // MARK: - Serving

    private func serve(
        _ coordinator: ClusterCoordinator, _ copy: Copy, _ copyFile: CopyFile, _ inheritance: Inheritance?,
        isAsLeft: Bool
    ) throws(LogFailure) -> Outcome {
        let replica = coordinator.member.replica
        guard let commits = replica.sink as? SharedCommits else {
            preconditionFailure("A replica of a member has commits for its engine.")
        }
        replica.machine.member = settings.member
        let (engine, notTakenOver) = engine(of: replica, inheritance, isAsLeft: isAsLeft)
        if notTakenOver != nil, isAsLeft { coordinator.endSessions() }
        if let reason = copy.givesWay?.reason {
            let aside = try copyFile.replace(by: engine, replica)
            logger.error(
                "this member has taken another copy of the bus, because \(reason); what it had is kept as \(aside)",
                metadata: LogKind.otherCopy.metadata)
        }
        let last = try copyFile.use { (file) throws(LogFailure) in
            var first = TakenSnapshot(revision: engine.revision, bytes: 0, time: WallClock.now)
            if copy.isNew, copy.givesWay == nil {
                first.bytes = try CopyFile.begin(file, engine, replica)
                return first
            }
            try file.begin(epoch: engine.epoch)
            return try LogReader(path: file.path).snapshots().first.map { TakenSnapshot($0) } ?? first
        }
        let mailbox = LogMailbox(bell)
        let writer = copyFile.hand { [log] file in LogWriter(file, log.sync, mailbox) }
        let ending = Ending()
        let snapshots = ReplicaSnapshots(
            writer, path: log.path.value, types: configuration.knownTypes, hashSeed: seed, ending, bell,
            logger)
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
                hasTakenOver: inheritance != nil && notTakenOver == nil),
            coordinator: coordinator, snapshots: snapshots, notTakenOver: notTakenOver)
    }

    /// The engine, with the clients of the previous process; or why these can't be taken over.
    private func engine(
        of replica: Replica, _ inheritance: Inheritance?, isAsLeft: Bool
    ) -> (Engine, String?) {
        func fresh() -> Engine { Engine(configuration, replica.machine, isShared: true) }
        guard let inheritance else { return (fresh(), nil) }
        guard isAsLeft else {
            return (fresh(), "this member's copy of the bus is not at the place where it left off")
        }
        let engine = fresh()
        let outcome = inheritance.state.withUnsafeBytes { bytes in
            Result { () throws(TransferFailure) in try engine.takeOverClients(bytes) }
        }
        guard case .failure(let failure) = outcome else { return (engine, nil) }
        return (fresh(), failure.message)
    }
}
