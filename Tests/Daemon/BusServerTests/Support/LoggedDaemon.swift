import CSQLite
import Foundation
import TestFiles

/// Starts the real daemon again and again on one log.
struct LoggedDaemon {
    let directory = TemporaryDirectory()

    var address: String { "unix:\(directory.path)/s" }
    var log: String { "\(directory.path)/bus.sqlite" }

    init() throws { try directory.writeCounter() }

    func arguments(_ more: [String] = []) -> [String] {
        ["--listen", address, "--types", "\(directory.path)/types", "--store", "counter/main", "--log", log]
            + more
    }

    /// Starts one and returns once it listens.
    func start(_ more: [String] = [], through: [String] = []) throws -> DaemonProcess {
        let daemon = try DaemonProcess(arguments(more), through: through)
        guard daemon.waitFor("listening on") else {
            throw Client.Failure(description: try daemon.wait().errors)
        }
        return daemon
    }

    /// Starts one that is to refuse.
    func run(_ more: [String] = [], through: [String] = []) throws -> DaemonProcess.Outcome {
        try DaemonProcess.run(arguments(more), through: through)
    }

    func verify() throws -> DaemonProcess.Outcome { try run(["--verify"]) }

    func client() throws -> Client { try Client(address) }

    /// Ends one as systemd does, and gives its exit code.
    func stop(_ daemon: DaemonProcess) throws -> Int32 {
        daemon.signal(SIGTERM)
        return try daemon.wait().status
    }

    /// Changes the log as another program could.
    func change(_ sql: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(log, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK,
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
        else { throw Client.Failure(description: "\(sql): \(String(cString: sqlite3_errmsg(handle)))") }
    }

    /// Turns one bit in the one place where these bytes stand in the file.
    func flip(_ text: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log))
        guard let place = bytes.range(of: Data(text.utf8)) else {
            throw Client.Failure(description: "\(text) stands nowhere in the log.")
        }
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(fileURLWithPath: log))
    }
}

extension Client {
    /// An integer member of a reply, which stands in it once.
    static func integer(_ name: String, in line: String) -> Int? {
        guard let place = line.range(of: "\"\(name)\":") else { return nil }
        return Int(line[place.upperBound...].prefix { $0.isNumber || $0 == "-" })
    }

    func epoch() throws -> String {
        let reply = try ask(#"{"op":"hello"}"#)
        guard let place = reply.range(of: #""epoch":""#) else { throw Failure(description: reply) }
        return String(reply[place.upperBound...].prefix { $0 != "\"" })
    }
}
