import BusJSON
import Foundation
import TestFiles
import TestServer
import Testing

/// A daemon with a log, and the command line as programs that run commands in its directory.
final class AutomationBus {
    let bus: DaemonBus
    private var daemon: RunningProgram
    private let client: LineClient

    init(stores: [String] = ["counter/a", "counter/b", "counter/c"]) throws {
        bus = try DaemonBus(hasLog: true)
        try bus.directory.write("types/lease.yaml", Repository.text("config/types/lease.yaml"))
        daemon = try bus.start()
        client = try bus.client()
        for store in stores { try ask(["op": "create", "store": .string(store)]) }
    }

    /// Starts a program of the command line.
    func start(_ words: String...) throws -> RunningProgram { try start(words) }

    func start(_ words: [String], _ variables: [String: String] = [:]) throws -> RunningProgram {
        try start(program: RunningProgram.path(of: "fluxbus"), words, variables)
    }

    /// Starts a script, in which `fluxbus` is the command line.
    func start(script: String) throws -> RunningProgram {
        try start(program: "/bin/sh", ["-c", script], [:])
    }

    private func start(
        program: String, _ words: [String], _ variables: [String: String]
    ) throws -> RunningProgram {
        try RunningProgram(
            [program] + words,
            environment: [
                "FLUXBUS_ADDRESS": bus.address, "HOME": bus.directory.path, "FLUXBUS_USER": "inherited",
                "TRACEPARENT": "inherited",
                "PATH": Repository.programs.path + ":/usr/bin:/bin",
            ].merging(variables) { $1 },
            directory: bus.directory.path)
    }

    /// Runs one to its end.
    func run(_ words: String...) throws -> RunningProgram.Outcome { try start(words).wait() }

    // MARK: Requests

    @discardableResult
    func ask(_ request: JSONObject) throws -> JSONObject {
        let reply = try JSON(parsing: bus.client().ask(request.encoded)).object ?? [:]
        guard reply["ok"] == true else {
            throw Sockets.Failure("\(request.encoded.prefix(300)): \(reply.encoded)")
        }
        return reply
    }

    /// Commits an action, and gives its revision.
    @discardableResult
    func dispatch(_ action: String, to target: String, _ payload: JSONObject = [:]) throws -> Int {
        let reply = try ask([
            "op": "dispatch", target.contains("/") ? "store" : "type": .string(target),
            "action": .string(action),
            "payload": .object(payload),
        ])
        return try #require(reply["revision"]?.int)
    }

    /// Returns once a client is as it is said; false when none comes to be.
    func comesTrue(_ member: String, _ holds: (Int) -> Bool = { $0 > 0 }) throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            let clients = try ask(["op": "clients"])["clients"]?.array ?? []
            if clients.contains(where: { $0["self"] != true && holds($0[member]?.int ?? 0) }) { return true }
        }
        return false
    }

    // MARK: Its end and beginning

    func kill() { daemon.kill() }
    func pause() { daemon.signal(SIGSTOP) }
    func continueRunning() { daemon.signal(SIGCONT) }
    func startAgain() throws { daemon = try bus.start() }

    func path(_ name: String) -> String { "\(bus.directory.path)/\(name)" }

    /// What holds a command back that reads it: `timeout 50 cat NAME`.
    func makeGate(_ name: String) throws { try #require(mkfifo(path(name), 0o600) == 0) }
    func openGate(_ name: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: path(name)))
        try handle.close()
    }
}

extension RunningProgram {
    /// The next lines of its output.
    func lines(_ count: Int) -> [String] { (0..<count).compactMap { _ in nextLine() } }

    /// Ends it as systemd does.
    func end() throws -> Outcome {
        signal(SIGTERM)
        return try wait()
    }
}
