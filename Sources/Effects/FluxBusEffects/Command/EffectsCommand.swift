import ArgumentParser
import BusEffects
import BusProtocol
import BusSource
import BusSystem
import FluxBus
import Systemd

/// `fluxbus-effects`: flags, signals and exit codes around `EffectService`.
struct EffectsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fluxbus-effects",
        abstract: "Starts programs, units, requests and actions for what happens on a bus.",
        usage: "fluxbus-effects [--effects DIR] [--address BUS] [--check]",
        discussion: """
            Each file of the directory is one effect: for which actions of which stores, under which condition, it \
            does what. Where each stands is on the bus, in the store effect/NAME; `fluxbus effects` lists them.

            ENVIRONMENT:
              FLUXBUS_ADDRESS     the bus, as --address
              FLUXBUS_EFFECTS     the directory, as --effects
              FLUXBUS_TOKEN, FLUXBUS_CA, FLUXBUS_CERTIFICATE, FLUXBUS_KEY   for a bus at tcp: or tls:

            SIGNALS:
              SIGTERM, SIGINT     begin nothing more, and wait for what runs, at most 15 s; a second one ends at once
              SIGHUP              read the files again; what is wrong is refused, and everything stays as before

            EXIT CODES:
              0    stopped by a signal; with --check: all effects OK
              64   the command line is wrong
              69   the bus can't be reached
              77   the bus does not let it in, or does not let it follow
              78   a file is wrong, or the bus has no type effect
            """,
        version: Version.line(of: "fluxbus-effects"))

    @Option(
        help: ArgumentHelp(
            "Read the effects (*.yaml, *.json) in this directory (default: /etc/fluxbus/effects).",
            valueName: "dir"))
    var effects: String?

    @Option(
        help: ArgumentHelp(
            "The bus: unix:/path, tcp:host:port or tls:host:port (default: as for fluxbus).",
            valueName: "address"))
    var address: String?

    @Flag(help: "Check the files and exit.")
    var check = false

    private var directory: String {
        effects ?? ProcessVariables.all["FLUXBUS_EFFECTS"] ?? "/etc/fluxbus/effects"
    }

    private func read() throws(EffectsFailure) -> EffectCatalog {
        var errors: [SourceError] = []
        let catalog = EffectCatalog(directory: directory, &errors)
        guard errors.isEmpty else { throw EffectsFailure(.configuration, errors.lines) }
        return catalog
    }

    func serve() throws(EffectsFailure) {
        let catalog = try read()
        if check {
            let names = catalog.entries.map(\.effect.name).joined(separator: ", ")
            return StandardStream.output.write(
                "fluxbus-effects: \(catalog.entries.count) effects OK\(names.isEmpty ? "" : ": " + names)")
        }
        let watchdog: Watchdog?
        do throws(SystemdError) {
            watchdog = try Watchdog()
        } catch {
            throw EffectsFailure(.configuration, [error.message])
        }
        let signals = ServiceSignals()
        let notifier = Notifier()
        let address = address
        let service = try Waiting.result { () async throws(EffectsFailure) in
            do throws(BusError) {
                return try await Self.follow(catalog, at: address)
            } catch {
                throw EffectsFailure(error)
            }
        }
        let tellReady = { @Sendable in
            let count = service.effects.count
            try? notifier.send(.ready, .status("\(count) \(count == 1 ? "effect" : "effects")."))
        }
        tellReady()
        if let watchdog {
            let beats = NotificationQueue(notifier)
            service.effects.pulse(every: watchdog.beat) { beats.tell(.watchdog) }
        }
        say("following \(service.bus.address) with \(catalog.entries.count) effects")
        signals.wait {
            try? notifier.reloading()
            do throws(EffectsFailure) {
                service.effects.reload(try self.read().entries)
                say("read \(self.directory) again")
            } catch {
                for line in error.lines { say(line) }
                say("the effects stay as they were")
            }
            tellReady()
        }
        try? notifier.send(.stopping)
        Waiting.done {
            await service.effects.stop()
            await service.bus.close()
        }
    }

    private static func follow(
        _ catalog: EffectCatalog, at address: String?
    ) async throws(BusError) -> (effects: EffectService, bus: Bus) {
        var options = BusOptions()
        options.client = "fluxbus-effects"
        options.patience = .seconds(30)
        // A dispatch that was lost with its connection is sent again with a key of its own.
        options.linger = nil
        options.readInterval = EffectLimits.readInterval
        let addresses = try BusAddress.list(
            address.map { [$0] } ?? [], environment: ProcessVariables.all)
        let bus = try await Bus.connect(addresses, options: options)
        let service = EffectService(
            on: bus, environment: ProcessVariables.all, log: { say($0) })
        try await service.start(catalog.entries)
        return (service, bus)
    }
}

/// A line for whoever looks after the service.
private func say(_ line: String) { StandardStream.errors.write("fluxbus-effects: \(line)") }

/// The program.
package enum EffectsProgram {
    package static func main() -> Never {
        do {
            var command = try EffectsCommand.parseAsRoot()
            guard let effects = command as? EffectsCommand else {
                try command.run()
                EffectsCommand.exit()
            }
            try effects.serve()
            EffectsCommand.exit()
        } catch {
            guard let failure = error as? EffectsFailure else { EffectsCommand.exit(withError: error) }
            for line in failure.lines { say(line) }
            EffectsCommand.exit(withError: ExitCode(failure.code.rawValue))
        }
    }
}

/// Why the service does not start, with the exit code.
struct EffectsFailure: Error {
    enum Code: Int32 {
        case unreachable = 69, forbidden = 77, configuration = 78
    }

    let code: Code
    let lines: [String]

    init(_ code: Code, _ lines: [String]) { (self.code, self.lines) = (code, lines) }

    init(_ error: BusError) {
        lines = [error.message]
        code =
            switch error.code {
            case .unknownType, .invalidAddress, .invalidOptions: .configuration
            case .forbidden, .unauthorized, .untrusted: .forbidden
            default: .unreachable
            }
    }
}
