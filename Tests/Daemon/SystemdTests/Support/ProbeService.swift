import Foundation
import Glibc
import TestServer

/// A `systemd-probe` as a service of the booted system, with a socket of its own to give it orders. Each test makes one
/// under another name, so they can run side by side.
final class ProbeService {
    let harness: Harness
    let name: String
    var unit: String { "\(name).service" }
    var socketPath: String { "/run/\(name).sock" }

    /// - Parameters:
    ///   - service: Lines of the `[Service]` section beside what every probe has.
    ///   - sockets: More socket units, by name: the lines of their `[Socket]` sections.
    ///   - mode: What the probe does.
    init(
        _ harness: Harness, _ name: String, mode: String = "serve", service: [String] = [],
        sockets: [String: [String]] = [:]
    ) throws {
        self.harness = harness
        self.name = name
        var sockets = sockets
        sockets[name] = ["ListenStream=/run/\(name).sock", "FileDescriptorName=control"]
        for (socket, lines) in sockets {
            try harness.write(
                "/run/systemd/system/\(socket).socket",
                "[Socket]\nService=\(name).service\n\(lines.joined(separator: "\n"))\n")
        }
        let units = sockets.keys.sorted().map { "\($0).socket" }
        try harness.write(
            "/run/systemd/system/\(name).service",
            """
            [Unit]
            Requires=\(units.joined(separator: " "))
            After=\(units.joined(separator: " "))
            StartLimitIntervalSec=0
            [Service]
            Type=notify
            Sockets=\(units.joined(separator: " "))
            ExecStart=\(Harness.executablesInside)/systemd-probe \(mode)
            TimeoutStartSec=30
            # Swift's crash reporter would catch the watchdog's SIGABRT, print, and let the process live on.
            Environment=SWIFT_BACKTRACE=enable=no
            \(service.joined(separator: "\n"))
            """)
        try harness.check("systemctl", "daemon-reload")
        for unit in units { try harness.check("systemctl", "start", unit) }
    }

    /// Begins to start it; it becomes active when it is told `ready`.
    func begin() throws { try harness.check("systemctl", "start", "--no-block", unit) }

    /// Starts it, connects, and makes it ready.
    func start() throws -> LineClient {
        try begin()
        let connection = try connect()
        try connection.order("ready")
        try settle()
        return connection
    }

    func connect() throws -> LineClient { try LineClient(service: harness.path(socketPath)) }

    /// Returns when the unit's job is done: `systemctl start` waits for the job that there is.
    func settle() throws { try harness.check("systemctl", "start", unit) }

    /// What the journal holds about it, the manager's own messages included.
    func messages() throws -> String {
        try harness.check("journalctl", "--sync")
        return try harness.check("journalctl", "-u", unit, "-o", "cat")
    }

    func property(_ name: String) throws -> String { try harness.property(name, of: unit) }
}
