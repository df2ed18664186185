import Systemd

/// Notifies the manager while the daemon runs: that the commit queue is alive, and how much the bus holds.
///
/// Both come from turns of that queue, never from a timer beside it. A turn that hangs sends no beat, and the manager
/// ends the daemon; one of many turns with much to do sends it between two of them. A disk that hangs is no turn that does:
/// the loop goes on without it.
///
/// Confined to the bus queue.
final class WatchdogReporter {
    /// How old the status may become before it is sent again, in milliseconds. It is not sent while nothing changes.
    private static let statusInterval = 1000

    private let service: Service
    private let status: () -> String
    /// In milliseconds; nil without a watchdog.
    private let beatInterval: Int?
    private var nextBeat: Int?
    private var nextStatus = 0
    /// Something happened since the status was sent.
    private var isStale = true
    private var told = ""
    /// The status before its counts: the last failure, until it is over.
    private var trouble: String?
    /// More would make the notification too long, and it would not be read.
    private static let longestTrouble = 1024

    init(_ service: Service, status: @escaping () -> String) {
        self.service = service
        self.status = status
        beatInterval = service.isHeard ? service.watchdog.map { max(1, $0.beat.milliseconds) } : nil
        nextBeat = beatInterval == nil ? nil : 0
    }

    /// When a notification is due even if nothing happens, in monotonic milliseconds.
    var due: Int? {
        guard service.isHeard else { return nil }
        return isStale ? min(nextBeat ?? .max, nextStatus) : nextBeat
    }

    /// After a turn, or when it is due.
    func turnEnded(now: Int) {
        guard service.isHeard else { return }
        isStale = true
        beat(now: now)
    }

    /// Sends what is due, although nothing has happened.
    func beat(now: Int) {
        guard service.isHeard else { return }
        if let next = nextBeat, next <= now, let beatInterval {
            service.tell(.watchdog)
            nextBeat = now + beatInterval
        }
        if isStale, nextStatus <= now { tellStatus(now: now) }
    }

    /// Something has failed, or works again (nil); the status says so at once.
    func note(trouble: String?, now: Int) {
        self.trouble = trouble.map { String($0.prefix(Self.longestTrouble)) }
        tellStatus(now: now)
    }

    /// Sends the counts now, if they have changed.
    private func tellStatus(now: Int) {
        nextStatus = now + Self.statusInterval
        isStale = false
        let text = trouble.map { "\($0) · \(status())" } ?? status()
        if text == told { return }
        told = text
        service.tell(.status(text))
    }
}
