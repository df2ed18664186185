import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusMachine
import BusSystem
import Glibc
import Synchronization

/// Takes snapshots beside the bus: a state machine of its own replays the log from the previous snapshot, so that
/// commits need not wait, and a snapshot is exactly what the commits make.
final class Snapshots: Sendable {
    /// Nicer than others: it replays as much as the bus has done since the last one.
    private let worker = Worker(named: "fluxbus-snap", niceness: 5)
    private let writer: LogWriter
    private let mailbox: LogMailbox
    private let retention: Retention
    private let ending: Ending
    private let isTrimming = Atomic(false)
    /// The newest snapshot when commits of types were last counted.
    private let lastCounted = Atomic(-1)

    /// Parts of a snapshot, and steps of trimming: short, because batches are written between them.
    private static let partSize = 256 << 10
    private static let rowsAtOnce = 256
    /// Pages of the write-ahead log after which trimming waits for the disk: a batch that is synced waits for as many.
    private static let pagesUnsynced = 64
    /// Then it rests for as long as that took, and at most for so many milliseconds, so that half of the disk is the batches'.
    private static let longestRest = 50

    init(_ writer: LogWriter, _ mailbox: LogMailbox, _ retention: Retention, _ ending: Ending) {
        self.writer = writer
        self.mailbox = mailbox
        self.retention = retention
        self.ending = ending
    }

    /// How state machines of the past are made; it is used on one queue at a time.
    struct Recipe: @unchecked Sendable {
        let replayer: Replayer
        /// Once it has begun, machines being made are given up.
        let ending: Ending
    }

    /// Takes a snapshot of a revision that is in the log; the mailbox gets the result.
    ///
    /// - Parameter rules: How far back the past of types is kept.
    func take(at revision: Int, _ recipe: Recipe, _ rules: [String: LogReach]) {
        worker.async { [self] in
            do {
                let past = try writer.past()
                let machine = try recipe.replayer.machine(at: revision, from: past)
                let bytes = machine.snapshot()
                forgetOld(makingRoomFor: bytes.bytes.count)
                let count = try write(bytes, at: revision)
                forgetOld()
                thin(by: rules)
                mailbox.put(.snapshotTaken(revision: revision, bytes: count))
            } catch {
                mailbox.put(.snapshotFailed("\((error as? LogFailure)?.message ?? "\(error)")"))
            }
        }
    }

    /// Writes a snapshot, part by part, and returns its length.
    @discardableResult
    func write(_ snapshot: ByteWriter, at revision: Int) throws(LogFailure) -> Int {
        try Self.write(snapshot, at: revision) { (body) throws(LogFailure) in try writer.withFile(body) }
    }

    static func write(
        _ snapshot: ByteWriter, at revision: Int,
        _ withFile: ((LogFile) throws(LogFailure) -> Void) throws(LogFailure) -> Void
    ) throws(LogFailure) -> Int {
        let time = WallClock.now
        let bytes = snapshot.bytes
        do throws(LogFailure) {
            try withFile { (file) throws(LogFailure) in
                try file.beginSnapshot(revision: revision, time: time)
            }
            var start = 0
            while start < bytes.count {
                let end = endOfLine(in: bytes, from: start)
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                try withFile { (file) throws(LogFailure) in try file.addPart(part) }
                start = end
            }
            var sync: LogSync?
            try withFile { (file) throws(LogFailure) in
                try file.endSnapshot()
                sync = try file.beginSync()
            }
            // Batches go on meanwhile.
            if let sync {
                let error = sync.run()
                try withFile { (file) throws(LogFailure) in try file.endSync(sync, error: error) }
            }
        } catch {
            try? withFile { (file) throws(LogFailure) in try file.cancelSnapshot() }
            throw error
        }
        return withExtendedLifetime(snapshot) { bytes.count }
    }

    /// The end of the last whole line that fits into a part, or of a longer one.
    private static func endOfLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        if bytes.count - start <= partSize { return bytes.count }
        let newline = UInt8(ascii: "\n")
        if let last = bytes[start..<start + partSize].lastIndex(of: newline) { return last + 1 }
        let next = bytes[(start + partSize)...].firstIndex(of: newline)
        return next.map { $0 + 1 } ?? bytes.count
    }

    /// Removes what need not be kept any more, beside the bus.
    func trim(_ rules: [String: LogReach]) {
        if isTrimming.exchange(true, ordering: .relaxed) { return }
        worker.async { [self] in
            // Before it looks: what is written from now on is left to the next call.
            isTrimming.store(false, ordering: .relaxed)
            forgetOld()
            thin(by: rules)
        }
    }

    /// Does something between snapshots and trimming, beside the bus.
    func aside(_ body: @escaping @Sendable () -> Void) { worker.async(body) }

    /// Gives all free pages back, beside the bus; `done` receives the size of the file before and after.
    func compact(_ done: @escaping @Sendable (Result<(before: Int, after: Int), LogFailure>) -> Void) {
        worker.async { [self] in
            done(
                Result { () throws(LogFailure) in
                    let before = try writer.withFile { (file) throws(LogFailure) in
                        guard file.canShrink else { throw file.cannotShrink }
                        return try file.room()
                    }
                    forgetOld()
                    try inSteps { (file) throws(LogFailure) in try file.compact() }
                    let after = try writer.withFile { (file) throws(LogFailure) in try file.room() }
                    return (before.bytes, after.bytes)
                })
        }
    }

    /// Removes what need not be kept any more, in steps, until the bus ends.
    ///
    /// - Parameter bytes: What is going to be written.
    func forgetOld(makingRoomFor bytes: Int = 0) {
        let now = WallClock.now
        var retention = retention
        retention.bytes = max(0, retention.bytes - bytes)
        // The log's writer reports a failure.
        try? inSteps { [retention] (file) throws(LogFailure) in
            try file.trim(retention, now: now, budget: Self.rowsAtOnce)
        }
    }

    /// Takes out of the log what types do not keep of their past, in steps, until the bus ends.
    private func thin(by rules: [String: LogReach]) {
        // The log's writer reports a failure.
        try? thin(by: limits(by: rules))
    }

    private func thin(by limits: [String: HorizonLimit]) throws(LogFailure) {
        let now = WallClock.now
        var before = 0
        try writer.withFile { (file) throws(LogFailure) in
            before = file.thinningSteps
            try file.moveHorizons(limits, now: now)
        }
        try inSteps { (file) throws(LogFailure) in
            try file.thin(budget: Self.rowsAtOnce) { Thinning($1).rest(ofGroup: $0) }
        }
        var after = 0
        try writer.withFile { (file) throws(LogFailure) in after = file.thinningSteps }
        // Gives back what has become free.
        if after > before { forgetOld() }
    }

    /// How many commits a type has had is looked up once for each snapshot.
    private func limits(by rules: [String: LogReach]) throws(LogFailure) -> [String: HorizonLimit] {
        let byAge = rules.mapValues { HorizonLimit(age: $0.age, through: nil) }
        guard rules.values.contains(where: { $0.commits != nil }) else { return byAge }
        var last = 0
        try writer.withFile { (file) throws(LogFailure) in last = file.lastRevision }
        guard let past = try? writer.past(), let snapshots = try? past.snapshots(),
            snapshots.count > 1, lastCounted.exchange(snapshots.last!, ordering: .relaxed) != snapshots.last!
        else { return byAge }
        return (try? past.limits(by: rules, through: last)) ?? byAge
    }

    /// Takes steps, between which batches are written, while `step` returns that there is more to do. It takes at most half of
    /// the disk's time.
    private func inSteps(_ step: (LogFile) throws(LogFailure) -> Bool) throws(LogFailure) {
        var synced = 0
        var began = MonotonicClock.nanoseconds
        var isMore = true
        while isMore, !ending.hasBegun {
            var sync: LogSync?
            isMore = try writer.withFile { (file) throws(LogFailure) in
                let isMore = try step(file)
                if file.pagesAhead < synced { synced = 0 }
                if file.pagesAhead - synced >= Self.pagesUnsynced {
                    sync = try file.beginSync()
                    synced = file.pagesAhead
                }
                return isMore
            }
            guard let sync else { continue }
            let error = sync.run()
            try writer.withFile { (file) throws(LogFailure) in try file.endSync(sync, error: error) }
            let took = (MonotonicClock.nanoseconds - began) / 1_000_000
            _ = poll(nil, 0, Int32(min(max(1, took), Self.longestRest)))
            began = MonotonicClock.nanoseconds
        }
    }

    /// Waits until no snapshot is being taken.
    func drain() { worker.drain() }
}

/// Signals the end of the log's run to the work beside the bus.
final class Ending: Sendable {
    private let flag = Atomic(false)

    func begin() { flag.store(true, ordering: .relaxed) }
    var hasBegun: Bool { flag.load(ordering: .relaxed) }
}
