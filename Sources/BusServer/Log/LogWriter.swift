import BusEngine
import BusLog
import Dispatch

/// The queue that owns the log's file and waits for the disk, so that the bus queue never does.
///
/// `@unchecked Sendable`: the file is touched on its queue only.
final class LogWriter: @unchecked Sendable {
    let file: LogFile
    let queue = DispatchQueue(label: "fluxbus.log", qos: .userInitiated)
    private let mode: SyncMode
    private let mailbox: LogMailbox
    /// Syncs once a second, with `sync: interval`, or tries again after trouble.
    private var timer: (any DispatchSourceTimer)?
    private var isUnsynced = false
    private var isInTrouble = false

    init(_ file: LogFile, _ mode: SyncMode, _ mailbox: LogMailbox) {
        self.file = file
        self.mode = mode
        self.mailbox = mailbox
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(20))
        timer.setEventHandler { [unowned self] in secondPassed() }
        self.timer = timer
        timer.activate()
    }

    /// A group on its way to the disk; the engine leaves its bytes alone until it hears what came of it.
    private struct Parcel: @unchecked Sendable { let group: SealedGroup }

    /// Writes a group; the mailbox tells what came of it.
    func write(_ group: SealedGroup) {
        let parcel = Parcel(group: group)
        queue.async { [self] in
            do throws(LogFailure) {
                try append(parcel.group)
                mailbox.put(.written)
            } catch {
                isInTrouble = true
                mailbox.put(.notWritten(error))
            }
        }
    }

    /// Writes a group before it returns, for a bus that starts or ends.
    func writeNow(_ group: SealedGroup) throws(LogFailure) {
        try onQueue { () throws(LogFailure) in try append(group) }
    }

    private func append(_ group: SealedGroup) throws(LogFailure) {
        try file.append(group.entries.bytes, first: group.first, last: group.last, time: group.time)
        isUnsynced = true
    }

    private func secondPassed() {
        if isInTrouble {
            do throws(LogFailure) {
                try file.probe()
                isInTrouble = false
                mailbox.put(.roomAgain)
            } catch {
                return
            }
        }
        guard isUnsynced, mode == .interval else { return }
        do throws(LogFailure) {
            try file.sync()
            isUnsynced = false
        } catch {
            mailbox.put(.unsynced(error))
        }
    }

    /// Does something with the file, before it returns.
    func onQueue<Value>(_ body: () throws(LogFailure) -> Value) throws(LogFailure) -> Value {
        let result: Result<Value, LogFailure> = queue.sync {
            do throws(LogFailure) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Ends the run. Nothing is written afterwards.
    func close() throws(LogFailure) {
        try onQueue { () throws(LogFailure) in
            timer?.cancel()
            timer = nil
            try file.close()
        }
    }
}
