import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusMachine
import BusSystem
import Dispatch
import Logging

/// Coordinates the engine and the log: it passes batches of commits to the writer, queries to the readers of the past,
/// and decides when a snapshot is due. It belongs to the bus queue.
final class LogCoordinator {
    let engine: Engine
    let mailbox: LogMailbox
    private let writer: LogWriter
    private let snapshots: Snapshots
    private let indexer: Indexer
    private let past: PastReader
    private let backups: Backups
    private let rewinder: Rewinder
    private let recipe: Snapshots.Recipe
    private let settings: LogSettings
    private let logger: Logger
    /// Called with the reason when the log becomes unavailable, and with nil when it is available again.
    var noteTrouble: (String?) -> Void = { _ in }
    /// Called when commits can't be guaranteed any more.
    var giveUp: (String) -> Void = { _ in }

    /// Called when what lies at a place of a shared log, and all before it, is on disk; with the bytes written.
    var noteStored: ((Int, Int) -> Void)?
    /// Called with the reason when this member's copy of a shared bus can't be written, and with nil when it can again.
    var noteSuspended: (String?) -> Void = { _ in }

    private var isWriting = false
    /// What is being written.
    private var inFlight: SealedBatch?
    /// A shared bus: its copy here can't be written, and gets nothing until it can.
    private var isSuspended = false
    /// The batch that could not be written to it.
    private var unwritten: SealedBatch?
    /// The bus holds commits that could not be written, until it has been rewound.
    private var isRewinding = false
    /// The log could be written again before that.
    private var hasRoomAgain = false
    /// Queries that can't be answered before more is written.
    private var waiting: [LogQuery] = []

    /// Types in code: the next build may not have it, and can't apply their actions again.
    private let hasCode: Bool
    private var schedule: SnapshotSchedule
    /// What was written since the index was last told to go on.
    private var unindexed = (entries: 0, bytes: 0)
    /// Makes the stores again that the configuration lists and the log does not keep, after the bus was rewound, once commits can be written.
    var makeStores: () -> Void = {}
    /// Commits can't be guaranteed any more, and those not in the log never will be.
    private var hasGivenUp = false

    init(
        _ engine: Engine, _ writer: LogWriter, _ mailbox: LogMailbox, _ settings: LogSettings,
        _ recipe: Snapshots.Recipe, lastSnapshot: TakenSnapshot, limits: Limits,
        hasCode: Bool, _ logger: Logger
    ) {
        self.engine = engine
        self.writer = writer
        self.mailbox = mailbox
        self.recipe = recipe
        self.settings = settings
        self.logger = logger
        self.hasCode = hasCode
        schedule = SnapshotSchedule(
            settings, last: lastSnapshot, revision: engine.revision, changes: engine.keptChanges,
            age: engine.shortestPast(settings.retain.age), now: MonotonicClock.milliseconds,
            time: WallClock.now)
        snapshots = Snapshots(writer, mailbox, settings.retain, recipe.ending)
        indexer = Indexer(writer, recipe.ending)
        past = PastReader(writer, recipe, mailbox, limits: limits)
        rewinder = Rewinder(writer.file.path, recipe.replayer, mailbox)
        backups = Backups(writer, snapshots, mailbox, recipe.ending)
        indexer.catchUp()
        // `retain:` may have become less.
        snapshots.trim(engine.pastRules)
    }

    // MARK: - Turns

    /// Called after a turn: its commits go to the disk, if that is free.
    ///
    /// - Parameter standIn: Runs the loop if a small batch, which is then written at once, takes longer than expected.
    /// - Returns: Whether a batch has been written, or found to be impossible to write.
    @discardableResult
    func turnEnded(atOnce standIn: StandIn? = nil) -> Bool {
        guard !isWriting, !hasGivenUp, let group = engine.sealBatch() else { return false }
        isWriting = true
        engine.statistics.timings.group.record(group.commits)
        schedule.noteWriting(group.entries.count, commits: group.commits)
        unindexed.entries += group.entryCount
        unindexed.bytes += group.entries.count
        inFlight = group
        if let standIn, group.entries.count <= LoopLimits.writtenAtOnce,
            group.commits <= LoopLimits.commitsAtOnce
        {
            var outcome: LogFileEvent?
            standIn.perform { outcome = writer.writeAtOnce(group) }
            if let outcome {
                handle(outcome)
                return true
            }
        }
        writer.write(group)
        return false
    }

    /// The engine sends a query.
    func ask(_ question: LogQuery) {
        guard question.needed <= engine.durableRevision else {
            return isSuspended ? refuse(question) : waiting.append(question)
        }
        switch question.subject {
        case .backup(let offset): backups.ask(question, offset: offset)
        case .compact: compact(for: question)
        default: past.ask(question)
        }
    }

    private func compact(for question: LogQuery) {
        snapshots.compact { [mailbox] outcome in
            let answer: LogAnswer
            switch outcome {
            case .success(let sizes):
                answer = .members(Array(",\"before\":\(sizes.before),\"bytes\":\(sizes.after)".utf8))
            case .failure(let failure):
                answer = .refused(code: "unavailable", message: failure.message, details: [:])
            }
            mailbox.put(.answered(question, answer))
        }
    }

    /// Drops the queries of a connection that no longer waits.
    func forget(questionsOf connection: ConnectionID) {
        waiting.removeAll { $0.connection == connection }
        past.forget(questionsOf: connection)
        backups.forget(connection)
    }

    /// What `stats` tells of the log.
    var statistics: JSONObject {
        var statistics: JSONObject = [
            "durable": .int(engine.durableRevision), "sync": .string(settings.sync.rawValue),
            "snapshot": .int(schedule.last.revision),
        ]
        if let bytes = FileSize.of(writer.file.path) { statistics["bytes"] = .int(bytes) }
        return statistics
    }

    /// Handles the events in the mailbox.
    func hear() {
        for news in mailbox.take() { handle(news) }
    }

    private func handle(_ news: LogFileEvent) {
        switch news {
        case .synced(let took): engine.statistics.timings.fsync.record(took)
        case .written(let took):
            isWriting = false
            engine.statistics.timings.logWrite.record(took)
            engine.confirmBatch()
            let shared = inFlight?.shared
            inFlight = nil
            if isSuspended { endSuspension() }
            if let shared { noteStored?(shared.place, shared.bytes.count) }
            askWaiting()
            considerIndex()
            considerSnapshot()
            if schedule.takeTrimming() { snapshots.trim(engine.pastRules) }
        case .notWritten(let failure):
            // A shared bus can't go back behind what the other members have.
            if noteStored != nil {
                unwritten = inFlight
                return suspend(failure)
            }
            isWriting = false
            schedule.noteNotWritten(commits: inFlight?.commits ?? 0)
            inFlight = nil
            beginRewinding(failure)
        case .made(let past): finishRewinding(past)
        case .roomAgain where noteStored != nil: writeAgain()
        case .roomAgain:
            hasRoomAgain = true
            resumeIfPossible()
        case .answered(let question, let answer):
            engine.answer(question, with: answer)
        case .snapshotTaken(let revision, let bytes):
            let snapshot = TakenSnapshot(revision: revision, bytes: bytes, time: WallClock.now)
            if schedule.noteTaken(snapshot) { considerSnapshot() }
            logger.debug("snapshot of revision \(revision) taken, \(bytes) bytes")
        case .snapshotFailed(let message):
            schedule.noteFailed()
            logger.error("no snapshot: \(message)", metadata: LogKind.logTrouble.metadata)
        case .unsynced(let failure):
            end(failure.message)
        }
    }

    private func askWaiting() {
        let ready = waiting.filter { $0.needed <= engine.durableRevision }
        waiting.removeAll { $0.needed <= engine.durableRevision }
        for question in ready { ask(question) }
    }

    private func considerIndex() {
        guard
            unindexed.entries >= IndexBlockWriter.fullEntries || unindexed.bytes >= IndexBlockWriter.fullBytes
        else { return }
        unindexed = (0, 0)
        indexer.catchUp()
    }

    private func considerSnapshot() {
        if schedule.isSnapshotDue(changes: engine.keptChanges) { takeSnapshot() }
    }

    private func takeSnapshot() {
        schedule.noteTaking(changes: engine.keptChanges, commits: inFlight?.commits ?? 0)
        snapshots.take(at: engine.writtenRevision, recipe, engine.pastRules)
    }

    /// When `look` is to be called, in monotonic milliseconds.
    var nextLook: Int { schedule.nextLook }

    /// Little may have been written for long; the past goes away all the same.
    func look(now: Int) {
        let age = engine.shortestPast(settings.retain.age)
        if schedule.look(now: now, time: WallClock.now, age: age), engine.unavailableReason == nil {
            takeSnapshot()
        } else {
            snapshots.trim(engine.pastRules)
        }
    }

    // MARK: - Failures

    /// A batch could not be written: the bus has to be rewound to what the log holds.
    private func beginRewinding(_ failure: LogFailure) {
        // There is no log any more to rewind to, nor one that could be written again.
        if failure.kind == .lost { return end(failure.message) }
        logger.error(
            "commits after revision \(engine.durableRevision) are rolled back: \(failure.message)",
            metadata: LogKind.logTrouble.metadata)
        isRewinding = true
        engine.suspendCommits(
            reason: "The bus can't commit, because its log can't be written; try again later. "
                + failure.message)
        noteTrouble(failure.message)
        rewinder.make(at: engine.durableRevision)
    }

    private func finishRewinding(_ made: Rewinder.Made) {
        isRewinding = false
        switch made {
        case .machine(let past):
            waiting = []
            engine.rewind(to: past)
            schedule.noteRewound(changes: engine.keptChanges)
            rewinder.release(past)
            resumeIfPossible()
        case .failure(let failure): end("The log can't be read either. \(failure.message)")
        }
    }

    /// Resumes commits once the log can be written again, and the bus has been rewound to it.
    private func resumeIfPossible() {
        guard hasRoomAgain, !isRewinding else { return }
        hasRoomAgain = false
        logger.notice("the log can be written again", metadata: LogKind.logRecovered.metadata)
        noteTrouble(nil)
        engine.resumeCommits()
        // Not before: what can't be written would rewind the bus again.
        makeStores()
    }

    /// The copy of a shared bus can't be written. What is here already is served, since the shared log has it; nothing more
    /// is taken from there until there is room.
    func suspend(_ failure: LogFailure) {
        if failure.kind == .lost { return end(failure.message) }
        if isSuspended { return }
        isSuspended = true
        noteSuspended(failure.message)
        for question in waiting { refuse(question) }
        waiting = []
    }

    private func refuse(_ question: LogQuery) {
        let reason = engine.unavailableReason ?? ""
        engine.answer(question, with: .refused(code: "unavailable", message: reason, details: [:]))
    }

    private func writeAgain() {
        if let group = unwritten {
            unwritten = nil
            writer.write(group)
        } else if isSuspended, !isWriting {
            endSuspension()
        }
    }

    private func endSuspension() {
        isSuspended = false
        noteSuspended(nil)
    }

    private func end(_ reason: String) {
        if hasGivenUp { return }
        hasGivenUp = true
        logger.critical("\(reason)", metadata: LogKind.logTrouble.metadata)
        giveUp(reason)
    }

    // MARK: - The end

    /// Writes everything to disk before it returns; false if that failed.
    ///
    /// - Parameter whole: Also that commits have been made of which nothing is kept.
    func drain(whole: Bool = false) -> Bool {
        while true {
            writer.drain()
            hear()
            while isRewinding {
                rewinder.drain()
                hear()
            }
            if engine.unavailableReason != nil || hasGivenUp { return false }
            guard !isWriting, let group = engine.sealBatch(whole: whole) else { break }
            isWriting = true
            schedule.noteWriting(group.entries.count, commits: group.commits)
            inFlight = group
            writer.write(group)
        }
        return true
    }

    /// Ends the log's run. `leavingSnapshot`: the next start begins where this one ends.
    func close(leavingSnapshot: Bool) {
        let isWritten = drain(whole: true)
        // A snapshot under way may have far to go, and the present bus makes a newer one at once.
        recipe.ending.begin()
        snapshots.drain()
        indexer.drain()
        past.drain()
        backups.drain()
        let isDue = schedule.isSnapshotDueAtEnd(changes: engine.keptChanges, hasCode: hasCode)
        do throws(LogFailure) {
            if isWritten, leavingSnapshot, isDue {
                try snapshots.write(engine.snapshot(), at: engine.revision)
            }
            try writer.close()
        } catch {
            logger.error(
                "the log was not closed cleanly: \(error.message)", metadata: LogKind.logTrouble.metadata)
        }
    }
}
