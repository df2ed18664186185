import FluxBus
import Glibc

/// A connection beside the signals of this process. When it is lost it is made again.
final class LastingConnection {
    /// That this process should end, and that a command of it has ended.
    let signals: SignalPipe
    /// Nil while it is lost.
    private(set) var connection: BusConnection?
    private let session: CommandSession
    private let patience: TimeSpan
    private let resume: (BusConnection, Deadline) throws -> Void
    private var attempts: Reconnection?
    private var nextAttempt = Deadline.never

    /// Connects.
    ///
    /// - Parameters:
    ///   - patience: For how long it is tried to connect again.
    ///   - resume: Called with each further connection, and a deadline for what it asks there.
    init(
        _ session: CommandSession, patience: TimeSpan,
        resume: @escaping (BusConnection, Deadline) throws -> Void
    ) throws {
        (self.session, self.patience, self.resume) = (session, patience, resume)
        signals = try SignalPipe([SIGINT, SIGTERM, SIGHUP, SIGCHLD])
        // Whoever reads the messages may go; this process goes on then. A handler is not inherited by the commands that it starts, as
        // an ignored signal would be.
        signal(SIGPIPE) { _ in }
        connection = try session.connect()
    }

    /// The next line of the bus, if one has come.
    func nextLine() -> [UInt8]? { connection?.receiveLineIfReady() }

    /// Leaves the connection, to connect again.
    func lose() throws {
        connection = nil
        attempts = try Reconnection(session, for: patience)
        nextAttempt = Deadline(after: .zero)
    }

    /// Waits for lines, a signal or the deadline. Without `reading`, nothing is taken of the bus, nor is it connected to again.
    ///
    /// Throws when it has not answered for as long as it should be tried.
    func wait(reading: Bool, until deadline: Deadline) throws {
        guard reading else { return signals.wait(until: deadline) }
        if let connection {
            do throws(BusError) {
                _ = try connection.wait(input: signals.descriptor, until: deadline)
            } catch {
                guard Reconnection.mayPass(error) else { throw error }
                try lose()
            }
        } else {
            signals.wait(until: deadline.earlier(nextAttempt))
            guard nextAttempt.hasPassed else { return }
            connection = try attempts?.attempt(until: deadline, resume)
            nextAttempt = Deadline(after: .milliseconds(attempts?.pause ?? 0))
        }
    }
}
