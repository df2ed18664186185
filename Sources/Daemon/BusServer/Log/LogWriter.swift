import BusEngine
import BusLog
import Glibc

/// The thread that waits for the disk, so that the bus queue never does.
///
/// A thread and not a queue: it is woken once per batch, and that is most of what a small batch costs beside the disk.
///
/// `@unchecked Sendable`: the file is accessed by the holder of `fileLock`, everything else under `lock`.
final class LogWriter: @unchecked Sendable {
    let file: LogFile
    private let mode: SyncMode
    private let mailbox: LogMailbox
    private let fileLock = ThreadLock()

    private let lock = ThreadLock()
    private var waiting: SealedBatch?
    private var isWriting = false
    private var isEnding = false
    private var hasEnded = false

    // Under `fileLock`.
    private var isUnsynced = false
    private var isInTrouble = false

    /// How long it sleeps when nothing comes, in milliseconds: the interval of syncs and of attempts after a failure.
    private static let beat = 1000

    init(_ file: LogFile, _ mode: SyncMode, _ mailbox: LogMailbox) {
        self.file = file
        self.mode = mode
        self.mailbox = mailbox
        startThread(named: "fluxbus-log") { [self] in work() }
    }

    // MARK: - From the bus queue

    /// Writes a batch; the mailbox gets the result. One at a time.
    func write(_ group: SealedBatch) {
        lock.locked {
            waiting = group
            lock.signal()
        }
    }

    /// Waits until no batch is being written.
    func drain() {
        lock.locked {
            while waiting != nil || isWriting { lock.wait() }
        }
    }

    /// Runs `body` with the file, before it returns.
    func withFile<Value>(_ body: (LogFile) throws(LogFailure) -> Value) throws(LogFailure) -> Value {
        fileLock.acquire()
        defer { fileLock.release() }
        return try body(file)
    }

    /// Ends the run. Nothing is written afterwards.
    func close() throws(LogFailure) {
        drain()
        lock.locked {
            isEnding = true
            lock.signal()
            while !hasEnded { lock.wait() }
        }
        try withFile { (file) throws(LogFailure) in try file.close() }
    }

    // MARK: - On the thread

    private func work() {
        var nextBeat = MonotonicClock.read() + Self.beat
        while true {
            var group: SealedBatch?
            var ends = false
            lock.locked {
                while waiting == nil, !isEnding, MonotonicClock.read() < nextBeat {
                    // An idle log sleeps; only what is unsynced or has failed has a beat.
                    if hasBeat {
                        lock.wait(milliseconds: max(1, nextBeat - MonotonicClock.read()))
                    } else {
                        lock.wait()
                        nextBeat = max(nextBeat, MonotonicClock.read() + Self.beat)
                    }
                }
                group = waiting
                waiting = nil
                isWriting = group != nil
                ends = isEnding
            }
            if let group {
                write(now: group)
                lock.locked {
                    isWriting = false
                    lock.signal()
                }
            }
            if ends { break }
            if MonotonicClock.read() >= nextBeat {
                nextBeat = MonotonicClock.read() + Self.beat
                takeBeat()
            }
        }
        lock.locked {
            hasEnded = true
            lock.signal()
        }
    }

    /// Whether there is periodic work although nothing comes. Only this thread changes it.
    private var hasBeat: Bool { isInTrouble || (isUnsynced && mode == .interval) }

    private func write(now group: SealedBatch) {
        let began = MonotonicClock.nanoseconds()
        do throws(LogFailure) {
            try withFile { (file) throws(LogFailure) in
                guard let shared = group.shared else {
                    return try file.append(
                        group.entries.bytes, first: group.first, last: group.last, time: group.time)
                }
                try shared.bytes.withUnsafeBytes { bytes in
                    Result { () throws(LogFailure) in
                        try file.append(
                            group.entries.bytes, first: group.first, last: group.last, time: group.time,
                            shared: (shared.place, bytes))
                    }
                }.get()
            }
            isUnsynced = true
            mailbox.put(.written(took: MonotonicClock.nanoseconds() - began))
        } catch {
            isInTrouble = true
            mailbox.put(.notWritten(error))
        }
    }

    private func takeBeat() {
        if isInTrouble {
            do throws(LogFailure) {
                try withFile { (file) throws(LogFailure) in try file.probe() }
                isInTrouble = false
                mailbox.put(.roomAgain)
            } catch {
                return
            }
        }
        guard isUnsynced, mode == .interval else { return }
        let began = MonotonicClock.nanoseconds()
        do throws(LogFailure) {
            try withFile { (file) throws(LogFailure) in try file.sync() }
            isUnsynced = false
            mailbox.note(.synced(took: MonotonicClock.nanoseconds() - began))
        } catch {
            mailbox.put(.unsynced(error))
        }
    }
}
