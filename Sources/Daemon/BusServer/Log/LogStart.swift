import BusEngine
import BusHistory
import BusLog
import BusLogic
import BusMachine
import BusSource
import BusSystem
import Logging
import Systemd

/// Starts a bus with its log: from the newest snapshot and the entries after it, or from the hand-over of the previous
/// daemon, if that is where the log ends.
struct LogStart {
    let settings: LogSettings
    let configuration: EngineConfiguration
    let types: [any StateType]
    let service: Service
    let logger: Logger
    let bell: EventFD

    /// The result of a start with a log.
    struct Outcome {
        let engine: Engine
        let writer: LogWriter
        let mailbox: LogMailbox
        let recipe: Snapshots.Recipe
        let lastSnapshot: TakenSnapshot
        /// The hand-over is now this engine's.
        let hasTakenOver: Bool
    }

    func open(_ inheritance: Inheritance?) throws(StartFailure) -> Outcome {
        let (engine, start) = try located { () throws(LogFailure) in try prepare(inheritance) }
        // Before anything changes. Without a hand-over the stores go that end with a connection.
        try fitting { () throws(Redefinition.Refusal) in
            try engine.requireFit(types, isWithConnected: start.hasTakenOver)
        }
        let outcome = try located { () throws(LogFailure) in try begin(engine, start) }
        // The wills of clients that have gone may have changed states once more.
        try fitting { () throws(Redefinition.Refusal) in try engine.begin(with: types) }
        return outcome
    }

    private func fitting(_ body: () throws(Redefinition.Refusal) -> Void) throws(StartFailure) {
        do throws(Redefinition.Refusal) {
            try body()
        } catch {
            var errors = ConfigurationErrors()
            errors.add(error, of: types, log: settings.path.place)
            throw errors.failure
        }
    }

    private func located<Value>(
        _ body: () throws(LogFailure) -> Value
    ) throws(StartFailure) -> Value {
        do throws(LogFailure) {
            return try body()
        } catch {
            throw StartFailure(
                Self.code(of: error), SourceError(error.message, at: settings.path.place).description)
        }
    }

    /// What was found out before anything was changed.
    private struct Preparation {
        let file: LogFile
        let recipe: Snapshots.Recipe
        let isNew: Bool
        let hasTakenOver: Bool
    }

    static func code(of failure: LogFailure) -> StartFailure.Code {
        switch failure.kind {
        case .inUse: .inUse
        case .readOnly, .notALog, .newerForm: .configuration
        case .full, .damaged, .lost, .io: .log
        }
    }

    private func prepare(_ inheritance: Inheritance?) throws(LogFailure) -> (Engine, Preparation) {
        let path = settings.path.value
        let file = try LogFile(path: path, sync: settings.sync, bootID: BootID.read())
        if let owner = file.copyOf {
            throw LogFailure(
                .notALog, path: path,
                "The log \(path) is the copy that the member \(owner.member) has of the bus \(owner.bus); set cluster: as it was, or make a bus of this machine alone from a copy of the file with --restore."
            )
        }
        for notice in file.notices {
            logger.error("\(notice)", metadata: LogKind.logTrouble.metadata)
        }
        if !file.canShrink {
            logger.notice("\(file.cannotShrink.message)")
        }
        // Clients could not distinguish this history from another, and would miss commits silently.
        if let epoch = file.epoch, !UUIDText.isOne(epoch) {
            throw LogFailure(
                .damaged, path: path,
                "The history in the log \(path) is named \(String(reflecting: String(epoch.prefix(40)))), which is not a UUID; "
                    + "put a copy in its place with --restore, which gives it a name.")
        }
        let logger = logger
        let ending = Ending()
        let replayer = Replayer(
            knowing: configuration.knownTypes, epoch: file.epoch ?? configuration.epoch,
            hashSeed: configuration.hashSeed,
            report: { failure in
                logger.error(
                    "an older snapshot is used: \(failure.message)", metadata: LogKind.logTrouble.metadata)
            },
            isWanted: { !ending.hasBegun })
        let isNew = try Self.isNew(file)
        let handedOver = take(inheritance, file, isNew: isNew)
        let engine: Engine
        if let handedOver {
            engine = handedOver
        } else if isNew {
            engine = Engine(configuration, types: types)
        } else {
            engine = Engine(configuration, try replay(replayer, file))
        }
        return (
            engine,
            Preparation(
                file: file, recipe: Snapshots.Recipe(replayer: replayer, ending: ending), isNew: isNew,
                hasTakenOver: handedOver != nil)
        )
    }

    /// Whether the file has nothing to begin with: it was never used, or the first start was
    /// cut short before its snapshot.
    static func isNew(_ file: LogFile) throws(LogFailure) -> Bool {
        guard file.lastRevision == 0 else { return false }
        return try LogReader(path: file.path).snapshots().isEmpty
    }

    /// From here on everything goes into the log.
    private func begin(_ engine: Engine, _ start: Preparation) throws(LogFailure) -> Outcome {
        let (file, isNew, hasTakenOver) = (start.file, start.isNew, start.hasTakenOver)
        let mailbox = LogMailbox(bell)
        // Within a history time never goes back, so another one begins where it must: else, after a clock was once set
        // ahead, all commits would have the same time until the clock comes up with it.
        let isAhead = WallClock.isAhead(engine.lastTime) && !hasTakenOver
        if isAhead {
            if !isNew { engine.epoch = UUIDText.random() }
            logger.warning(
                "the clock was ahead when the newest commit was made: a new epoch begins, at the current time",
                metadata: LogKind.newEpoch.metadata)
        }
        // Where damage has cost the name of the history, too.
        if file.mayHaveLost || (file.epoch == nil && !isNew), !hasTakenOver {
            // A file with nothing to begin with has a new epoch already.
            if !isNew { engine.epoch = UUIDText.random() }
            logger.warning(
                "commits that clients know of may be lost: a new epoch begins, and clients start over",
                metadata: LogKind.newEpoch.metadata)
        }
        try file.begin(epoch: engine.epoch, turnsBack: isAhead)
        if !isNew, !hasTakenOver {
            engine.forgetUnkept(through: file.reservedThrough)
            if engine.revision > file.lastRevision {
                // Revisions of the log have no holes but in groups.
                try file.append(
                    UnsafeRawBufferPointer(start: nil, count: 0), first: file.lastRevision + 1,
                    last: engine.revision, time: WallClock.now)
            }
        }
        let writer = LogWriter(file, settings.sync, mailbox)
        var lastSnapshot = TakenSnapshot(revision: engine.revision, bytes: 0, time: WallClock.now)
        if isNew {
            engine.keepAsDefined()
            lastSnapshot.bytes = try Snapshots(
                writer, mailbox, settings.retain, start.recipe.ending
            ).write(
                engine.snapshot(), at: engine.revision)
        } else if let newest = try LogReader(path: file.path).snapshots().first {
            lastSnapshot = TakenSnapshot(newest)
        }
        // Without it everything works, and a lone commit costs more.
        try? file.useTail()
        engine.beginLogging()
        if isAhead { engine.turnBack(to: WallClock.now) }
        // What ends, ends now, and what lingers does so from now on.
        engine.beginTurn(at: WallClock.now)
        engine.sessions.endOrphaned()
        return Outcome(
            engine: engine, writer: writer, mailbox: mailbox, recipe: start.recipe,
            lastSnapshot: lastSnapshot, hasTakenOver: hasTakenOver)
    }

    /// The engine of the hand-over, if it matches the log.
    private func take(_ inheritance: Inheritance?, _ file: LogFile, isNew: Bool) -> Engine? {
        guard let inheritance else { return nil }
        let summary = inheritance.summary
        if !isNew, file.epoch != summary.epoch || file.lastRevision != summary.revision {
            logger.error(
                "clients of the previous daemon have to reconnect: its state is not that of the log \(file.path)",
                metadata: LogKind.notTakenOver.metadata)
            return nil
        }
        let engine = Engine(configuration, types: [])
        engine.beginTurn(at: WallClock.now)
        let outcome = inheritance.state.withUnsafeBytes { bytes in
            Result { () throws(TransferFailure) in try engine.takeOver(bytes, isLogToCome: true) }
        }
        if case .failure(let failure) = outcome {
            logger.error(
                "clients of the previous daemon have to reconnect: \(failure.message)",
                metadata: LogKind.notTakenOver.metadata)
            return nil
        }
        if WallClock.isAhead(engine.lastTime) {
            logger.error(
                "clients of the previous daemon have to reconnect: its clock was ahead, and time can't go back for them",
                metadata: LogKind.notTakenOver.metadata)
            return nil
        }
        return engine
    }

    // MARK: - Applying the log

    private func replay(_ replayer: Replayer, _ file: LogFile) throws(LogFailure) -> StateMachine {
        let progress = ReplayProgress(service, logger, last: file.lastRevision)
        do throws(PastFailure) {
            let machine = try replayer.machine(from: try LogPast(path: file.path)) { progress.reached($0) }
            progress.ended(machine)
            machine.epoch = file.epoch ?? machine.epoch
            if let type = machine.forgotten.keys.min() {
                throw PastFailure(
                    .damaged,
                    "The log \(file.path) has the stores of \(type) in its newest snapshots only, and these are damaged; restore it from a backup."
                )
            }
            guard machine.revision == file.lastRevision else {
                throw PastFailure(
                    .damaged,
                    "The log \(file.path) ends with revision \(file.lastRevision), but its commits with \(machine.revision); restore it from a backup."
                )
            }
            return machine
        } catch {
            throw LogFailure(error.kind == .unreadable ? .io : .damaged, path: file.path, error.message)
        }
    }
}

/// Reports the progress of a long start: to the manager, so that it waits, and to the operator's log.
final class ReplayProgress {
    private let service: Service
    private let logger: Logger
    private let last: Int
    private let start = MonotonicClock.milliseconds
    private var next: Int
    private var nextLine: Int
    private var first: Int?

    /// In milliseconds; a start that is over sooner reports nothing.
    private static let interval = 500
    private static let lineInterval = 5000

    init(_ service: Service, _ logger: Logger, last: Int) {
        self.service = service
        self.logger = logger
        self.last = last
        next = start + Self.interval
        nextLine = start + Self.interval
    }

    func reached(_ revision: Int) {
        if first == nil { first = revision }
        let now = MonotonicClock.milliseconds
        guard now >= next else { return }
        next = now + Self.interval
        let text = "reading the log: revision \(revision) of \(last)"
        service.tell(.status(text), .extendTimeout(.seconds(30)))
        if now >= nextLine {
            nextLine = now + Self.lineInterval
            logger.notice("\(text)")
        }
    }

    func ended(_ machine: StateMachine) {
        let time = MonotonicClock.milliseconds - start
        logger.info(
            "the log holds revision \(machine.revision) and \(machine.storeCount) stores; read in \(time) ms",
            metadata: LogKind.logRead.metadata)
    }
}

/// Identifies this boot of the machine.
enum BootID {
    static func read() -> String {
        let file = Located("/proc/sys/kernel/random/boot_id", at: Place(name: "boot_id"))
        let bytes = (try? FileBytes.read(file, what: "the boot id")) ?? []
        return String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
    }
}
