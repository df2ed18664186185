import ArgumentParser
import BusLogic
import BusServer
import BusTypes

/// A daemon of one's own: `fluxbusd` with Swift states linked into it.
///
/// The whole program is the states and one line in `main.swift`:
///
/// ```swift
/// import FluxBusDaemon
///
/// struct Counter: SharedState { … }
///
/// FluxBusDaemon.main(serving: Counter.self)
/// ```
///
/// It has the command line, configuration, signals and exit codes of `fluxbusd`, and serves its own states beside
/// the declared ones. The two can't be told apart on the wire.
public enum FluxBusDaemon {
    /// Runs the daemon with the process's arguments until a signal stops it, and ends the process.
    ///
    /// A state that can't be served, and a file that declares a type of the same name, is a start error: exit code
    /// 78, and a sentence for each that says what to do. A reload reads the files again; these types stay.
    public static func main(serving types: any SharedState.Type...) -> Never {
        // First of all, before there are threads: the service manager's variables are for this process alone.
        let service = Result { () throws(StartFailure) in try Service.take() }
        do {
            var command = try parse(service)
            if let daemon = command as? DaemonCommand {
                try daemon.run(serving: types, under: service)
            } else {
                try command.run()
            }
            DaemonCommand.exit()
        } catch {
            DaemonCommand.exit(withError: error)
        }
    }

    private static func parse(_ service: Result<Service, StartFailure>) throws -> any ParsableCommand {
        do {
            return try DaemonCommand.parseAsRoot()
        } catch {
            // The manager does not retry a wrong command line, so no client may wait for that.
            if DaemonCommand.exitCode(for: error) != .success { try? service.get().turnAway() }
            throw error
        }
    }

    /// The types for the engine; throws all mistakes in them.
    package static func compile(_ types: [any SharedState.Type]) throws(StartFailure) -> [any StateType] {
        var compiled: [any StateType] = []
        var mistakes: [String] = []
        for type in types {
            let found = type.mistakes()
            mistakes += found
            if !found.isEmpty { continue }
            if let other = types.first(where: { $0.typeName == type.typeName }), other != type {
                mistakes.append(
                    "\(other) and \(type) are both called \(type.typeName) on the wire; give one another typeName."
                )
            } else if !compiled.contains(where: { $0.name == type.typeName }) {
                compiled.append(make(type))
            }
        }
        if !mistakes.isEmpty { throw StartFailure(.configuration, mistakes) }
        return compiled
    }

    private static func make<State: SharedState>(_ type: State.Type) -> any StateType {
        CompiledType<State>()
    }
}
