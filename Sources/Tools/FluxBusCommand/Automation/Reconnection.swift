import BusJSON
import FluxBus

/// The attempts to connect again after a connection was lost, with pauses that grow, for a span of time.
struct Reconnection {
    private static let shortestPause = 50
    private static let longestPause = 2000
    /// An attempt that takes longer has failed.
    private static let longestAttempt = Duration.seconds(5)

    private let session: CommandSession
    private let deadline: Deadline
    /// How many milliseconds should pass before the next attempt.
    private(set) var pause: Int32 = 0

    /// Notes that the connection is lost.
    init(_ session: CommandSession, for span: TimeSpan) throws {
        self.session = session
        deadline = Deadline(after: span.duration)
        try session.console.note(
            "Connection lost; trying again "
                + (span.duration == nil ? "until the bus answers." : "for \(span)."))
    }

    /// Connects, and has `resume` continue there. Nil when that failed and may succeed later; throws when the span is over.
    mutating func attempt(
        until limit: Deadline = .never, _ resume: (BusConnection, Deadline) throws -> Void
    ) throws -> BusConnection? {
        let limit = limit.earlier(deadline).earlier(Deadline(after: Self.longestAttempt))
        do {
            let connection = try session.connect(until: limit)
            try resume(connection, limit)
            return connection
        } catch let error as BusError where Self.mayPass(error) {
            try fail(error.message)
            return nil
        }
    }

    /// Notes that an attempt has failed. Throws when the span is over.
    mutating func fail(_ reason: String) throws {
        guard !deadline.hasPassed else {
            // Whatever the last failure was: what matters is that nothing answered all the time.
            throw CommandFailure(BusError(.unreachable, reason))
        }
        let next = Deadline(
            after: .milliseconds(min(max(2 * Int(pause), Self.shortestPause), Self.longestPause)))
        pause = next.earlier(deadline).pollTimeout
    }

    /// Notes that it was made again: how many commits later, or on another history.
    static func tell(missed: Int?, on console: Console) throws {
        try console.note(
            missed.map { "Connected again, \(DispatchCommand.count($0, "commit")) later." }
                ?? "Connected again; the bus has a new epoch, so this starts over with what there is now.")
    }

    /// Whether a retry can help.
    static func mayPass(_ error: BusError) -> Bool {
        [.unreachable, .closed, .timedOut, .unavailable].contains(error.code)
    }
}
