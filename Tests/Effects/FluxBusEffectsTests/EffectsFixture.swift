import BusJSON
import FluxBus
import Foundation
import TestFiles
import TestServer
import Testing

/// A daemon and the service of effects as processes of their own, in a directory of their own.
final class EffectsFixture {
    let directory = TemporaryDirectory()
    private(set) var daemon: RunningProgram
    private(set) var service: RunningProgram?
    private let hasLog: Bool

    var address: String { "unix:\(directory.path)/s" }

    /// - Parameter effects: Files of effects by their names, without the name of the effect.
    init(_ effects: [String: String], hasLog: Bool = true, more types: [String: String] = [:]) throws {
        self.hasLog = hasLog
        for name in ["door", "effect"] {
            try directory.write("types/\(name).yaml", Repository.text("config/types/\(name).yaml"))
        }
        try directory.write("types/log.yaml", EffectStorm.type)
        for (name, text) in types { try directory.write("types/\(name).yaml", text) }
        try directory.write("effects/.keep", "")
        daemon = try Self.startDaemon(directory, hasLog)
        for (name, text) in effects { try write(name, text) }
    }

    func write(_ name: String, _ text: String) throws {
        try directory.write("effects/\(name).yaml", "effect: \(name)\n\(text)\n")
    }

    private static func startDaemon(_ directory: TemporaryDirectory, _ hasLog: Bool) throws -> RunningProgram
    {
        let daemon = try RunningProgram(
            "fluxbusd",
            [
                "--listen", "unix:\(directory.path)/s", "--types", "\(directory.path)/types",
            ] + ["log/main", "log/a", "log/b", "door/front"].flatMap { ["--store", $0] }
                + (hasLog ? ["--log", "\(directory.path)/bus.sqlite"] : []))
        guard daemon.waitFor("listening on") else { throw Failure(try daemon.wait().errors) }
        return daemon
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// Starts the service, and returns once it follows the bus.
    ///
    /// - Parameter relay: What stands between the service and the daemon.
    func start(_ more: [String: String] = [:], through relay: LineRelay? = nil) throws {
        service = try another(more, through: relay)
    }

    /// Another service with the same files.
    func another(_ more: [String: String] = [:], through relay: LineRelay? = nil) throws -> RunningProgram {
        let program = try RunningProgram(
            "fluxbus-effects",
            ["--effects", "\(directory.path)/effects", "--address", relay?.address ?? address],
            environment: [
                "PATH": "/usr/bin:/bin", "OUT": directory.path, "CREDENTIALS_DIRECTORY": directory.path,
            ].merging(more) { $1 })
        guard program.waitFor("following") else { throw Failure(try program.wait().errors) }
        return program
    }

    /// Ends the service as its unit does; its exit code.
    @discardableResult
    func stop() throws -> Int32 {
        service?.signal(SIGTERM)
        return try service?.wait().status ?? -1
    }

    func restartDaemon() throws {
        daemon.signal(SIGTERM)
        _ = try daemon.wait()
        daemon = try Self.startDaemon(directory, hasLog)
    }

    // MARK: The bus

    func bus() async throws -> Bus {
        try await Bus.connect(BusAddress(parsing: address))
    }

    /// Waits until the state of a store is as a test wants it.
    func waits(
        for store: String, _ bus: Bus, within seconds: Double = 300, _ holds: (JSON) -> Bool
    ) async throws {
        var options = Bus.SubscriptionOptions()
        options.format = .state
        let subscription = try await bus.subscribe(to: .store(store), options: options)
        let net = DispatchWorkItem { subscription.cancel() }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: net)
        defer { net.cancel() }
        var last = JSON.null
        for try await event in subscription {
            guard case .change(let change) = event, let state = change.states[store] else { continue }
            last = state
            if holds(state) { return }
        }
        throw Failure("\(store) stays \(last.encoded)")
    }

    /// The lines of a file that programs wrote to.
    func lines(_ name: String) -> [String] {
        let text = (try? String(contentsOfFile: "\(directory.path)/\(name)", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
