import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus effects`: where the effects of `fluxbus-effects` stand, and what becomes of events that they set aside.
package struct EffectsCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "effects",
        abstract: "See, retry and pause what fluxbus-effects does.",
        discussion: """
            Examples:
              fluxbus effects                            where each effect stands
              fluxbus effects list bell                  the events that it set aside
              fluxbus effects retry bell                 all of them once more
              fluxbus effects skip bell                  none of them
              fluxbus effects pause bell --reason 'the wires are being repaired'
              fluxbus effects resume bell
              fluxbus effects try /etc/fluxbus/effects/bell.yaml
            """,
        subcommands: [
            EffectsListCommand.self, EffectsRetryCommand.self, EffectsSkipCommand.self,
            EffectsPauseCommand.self, EffectsResumeCommand.self, EffectsTryCommand.self,
        ],
        defaultSubcommand: EffectsListCommand.self)

    package init() {}
}

/// `fluxbus effects list`: where they stand, or what one of them set aside.
package struct EffectsListCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the effects, or the events that one of them set aside.")

    @Argument(help: "An effect, whose events that were set aside are listed.")
    package var effect: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        if let effect { return try listFailures(of: effect, in: session) }
        let states = StateReader(session, try session.connect(), .type("effect"))
        var table = Table("EFFECT", "STATUS", "DONE", "WAITING", "HANDLED", "SET ASIDE", "")
        while let (address, state) = try states.next() {
            let name = String(address.dropFirst("effect/".count))
            guard session.console.form == .text else {
                var line = state.object ?? [:]
                line["effect"] = .string(name)
                try session.console.line(.object(line))
                continue
            }
            let (paused, failed) = (state["paused"]?.string, state["failed"]?.object?.count ?? 0)
            let number = { (key: String) in Table.Cell(state[key]?.encoded ?? "") }
            let status = state["owner"] == "" ? "no service" : state["running"] == 0 ? "idle" : "running"
            table.add(
                .init(name, .address),
                paused != nil ? .init("paused", .note) : .init(status),
                number("done"), number("waiting"), number("succeeded"),
                .init(failed == 0 ? "" : "\(failed)", .failure), .init(paused ?? "", .faint))
        }
        if session.console.form == .text { try session.console.table(table, orNote: "There is no effect.") }
        return .success
    }

    private func listFailures(of effect: String, in session: CommandSession) throws -> CommandStatus {
        let failures = try EffectFailures(of: effect, on: session.connect(), in: session)
        var table = Table("EVENT", "STORE", "ACTION", "WHEN", "TRIES", "REASON")
        for (event, about) in failures.all {
            guard session.console.form == .text else {
                var line = about.object ?? [:]
                line["event"] = .string(event)
                try session.console.line(.object(line))
                continue
            }
            table.add(
                .init(event), .init(about["store"]?.string ?? "", .address),
                .init(about["action"]?.string ?? ""),
                .init(DispatchTimeArgument.text(of: about["at"] ?? .null)),
                .init(about["tries"]?.encoded ?? ""),
                .init(about["reason"]?.string ?? ""))
        }
        if session.console.form == .text {
            try session.console.table(table, orNote: "\(effect) has set nothing aside.")
        }
        return .success
    }
}

/// The events that an effect set aside, in the order of the bus.
struct EffectFailures {
    let all: [(event: String, about: JSON)]
    private let effect: String
    private let connection: BusConnection
    private let session: CommandSession

    init(of effect: String, on connection: BusConnection, in session: CommandSession) throws {
        (self.effect, self.connection, self.session) = (effect, connection, session)
        let address = "effect/\(effect)"
        let reply = try session.asking(of: effect) {
            try session.ask(BusRequest("get", ["store": .string(address)]), on: connection)
        }
        let failed = reply["states"]?[address]?["failed"]?.object?.members ?? []
        all = failed.map { ($0.key, $0.value) }.sorted { Self.order($0.0) < Self.order($1.0) }
    }

    private static func order(_ event: String) -> (Int, String) {
        (Int(event.prefix { $0 != ":" }) ?? 0, event)
    }

    /// Dispatches an action for each of these events, or for all, as one commit. An event may be named by its revision
    /// alone. Returns how many there were.
    func dispatch(_ action: String, _ names: [String]) throws -> Int {
        var events = all.map(\.event)
        for name in names where !events.contains(where: { Self.matches($0, name) }) {
            throw CommandFailure(
                .no,
                "\(effect) has set no event \(name) aside; `fluxbus effects list \(effect)` lists those there are."
            )
        }
        if !names.isEmpty { events = events.filter { event in names.contains { Self.matches(event, $0) } } }
        guard !events.isEmpty else { return 0 }
        let actions = events.map { event -> JSON in
            [
                "store": .string("effect/\(effect)"), "action": .string(action),
                "payload": ["event": .string(event)],
            ]
        }
        _ = try session.ask(BusRequest("dispatch", ["actions": .array(actions)]), on: connection)
        return events.count
    }

    private static func matches(_ event: String, _ name: String) -> Bool {
        event == name || event.hasPrefix(name + ":")
    }
}

/// Which events that an effect set aside.
package struct EffectEventsArguments: ParsableArguments {
    @Argument(help: "The effect.")
    package var effect: String

    @Argument(help: "Events, as `fluxbus effects list` shows them, or their revisions (default: all).")
    package var events: [String] = []

    package init() {}
}

/// A command about events that an effect set aside.
package protocol EffectEventsCommand: BusCommand {
    var chosen: EffectEventsArguments { get }
    static var action: String { get }
    /// What has been done with a number of events: "retries".
    static var done: String { get }
}

extension EffectEventsCommand {
    package func perform(in session: CommandSession) throws -> CommandStatus {
        let effect = chosen.effect
        let failures = try EffectFailures(of: effect, on: session.connect(), in: session)
        let count = try failures.dispatch(Self.action, chosen.events)
        try session.console.answer(
            count == 0
                ? "\(effect) has set nothing aside"
                : "\(effect) \(Self.done) \(count) \(count == 1 ? "event" : "events")",
            ["effect": .string(effect), "events": .int(count)])
        return .success
    }
}

/// `fluxbus effects retry`: events that were set aside, once more.
package struct EffectsRetryCommand: EffectEventsCommand {
    package static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try events again that an effect set aside.")
    package static let (action, done) = ("retry", "tries again")

    @OptionGroup package var chosen: EffectEventsArguments

    @OptionGroup package var options: GlobalOptions

    package init() {}
}

/// `fluxbus effects skip`: events that were set aside, forgotten.
package struct EffectsSkipCommand: EffectEventsCommand {
    package static let configuration = CommandConfiguration(
        commandName: "skip", abstract: "Forget events that an effect set aside.")
    package static let (action, done) = ("skip", "forgets")

    @OptionGroup package var chosen: EffectEventsArguments

    @OptionGroup package var options: GlobalOptions

    package init() {}
}

/// `fluxbus effects pause`.
package struct EffectsPauseCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let an effect handle nothing until it is resumed; nothing is lost meanwhile.")

    @Argument(help: "The effect.")
    package var effect: String

    @Option(help: "Why, for those who look.")
    package var reason = "by hand"

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try session.tell(effect, "pause", ["reason": .string(reason)], "is paused")
    }
}

/// `fluxbus effects resume`.
package struct EffectsResumeCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let an effect continue that was paused.")

    @Argument(help: "The effect.")
    package var effect: String

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try session.tell(effect, "resume", [:], "continues")
    }
}

extension CommandSession {
    /// Sends a request about an effect. Throws "There is no effect …" if the bus has no store for it.
    fileprivate func asking(of effect: String, _ work: () throws -> JSONObject) throws -> JSONObject {
        do {
            return try work()
        } catch let error as BusError where error.code == .unknownStore {
            throw CommandFailure(
                .no, "There is no effect \(effect); `fluxbus effects` lists those there are.")
        }
    }

    fileprivate func tell(
        _ effect: String, _ action: String, _ payload: JSONObject, _ done: String
    ) throws -> CommandStatus {
        let reply = try asking(of: effect) {
            try ask(
                BusRequest(
                    "dispatch",
                    [
                        "store": .string("effect/\(effect)"), "action": .string(action),
                        "payload": .object(payload),
                    ]))
        }
        try console.answer("\(effect) \(done)", .object(reply))
        return .success
    }
}
