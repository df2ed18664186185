import Foundation
import TestFiles

/// A directory with a type `counter` in which the real daemon is started, again and again if a test wants it, on the same
/// socket and the same log.
package struct DaemonBus {
    package let directory = TemporaryDirectory()
    private let hasLog: Bool

    package var address: String { "unix:\(directory.path)/s" }
    /// The log, if it has one.
    package var log: String { "\(directory.path)/bus.sqlite" }

    package init(hasLog: Bool = false) throws {
        self.hasLog = hasLog
        try directory.writeCounter()
    }

    package func arguments(_ more: [String] = []) -> [String] {
        ["--listen", address, "--types", "\(directory.path)/types", "--store", "counter/main"]
            + (hasLog ? ["--log", log] : []) + more
    }

    /// Starts one and returns once it listens.
    package func start(_ more: [String] = [], through: [String] = []) throws -> RunningProgram {
        let daemon = try RunningProgram("fluxbusd", arguments(more), through: through)
        guard daemon.waitFor("listening on") else { throw Sockets.Failure(try daemon.wait().errors) }
        return daemon
    }

    /// Starts one that is to refuse.
    package func run(_ more: [String] = [], through: [String] = []) throws -> RunningProgram.Outcome {
        try RunningProgram.run("fluxbusd", arguments(more), through: through)
    }

    package func client() throws -> LineClient { try LineClient(address) }

    /// Ends one as systemd does, and gives its exit code.
    package func stop(_ daemon: RunningProgram) throws -> Int32 {
        daemon.signal(SIGTERM)
        return try daemon.wait().status
    }
}
