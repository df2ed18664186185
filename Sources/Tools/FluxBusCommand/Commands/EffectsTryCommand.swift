import ArgumentParser
import BusEffects
import BusJSON
import BusProtocol
import BusSource
import FluxBus

/// `fluxbus effects try`: what an effect would have done, without doing it.
package struct EffectsTryCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Show what the effect of a file would have done, without doing it.",
        discussion: """
            Examples:
              fluxbus effects try alarm.yaml                     of the last day
              fluxbus effects try alarm.yaml --at 4711           of the day that ended with this revision
              fluxbus effects try alarm.yaml --since yesterday
            """)

    /// How far before its end a trial begins by default, in seconds.
    private static let day = 86_400.0

    @Argument(help: "The file of an effect.", completion: .file())
    package var file: String

    @Option(
        help: ArgumentHelp("End with this revision or time (default: now).", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var at: RevisionArgument?

    @Option(
        help: ArgumentHelp(
            "Start after this revision or time (default: a day before the end).", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var since: RevisionArgument?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var errors: [SourceError] = []
        guard let effect = EffectCatalog.read(file, &errors)?.effect else {
            throw CommandFailure(.refused, errors.inOrder.lines.joined(separator: "\n"))
        }
        let connection = try session.connect()
        let reader = HistoryReader(session, connection, target: effect.type)
        let newest = try reader.newest()
        let last = try at?.resolved(on: connection, in: session, newest: newest) ?? newest
        let first =
            try since?.resolved(on: connection, in: session, newest: newest)
            ?? beginning(before: last, on: connection, in: session)
        guard last <= newest else {
            throw CommandFailure(
                .refused,
                "Revision \(last) has not happened: the bus is at revision \(newest). End with one that has.")
        }
        let trial = EffectTrial(effect, session, connection)
        try trial.begin(at: first)
        let oldest = try reader.forEachKept(after: first, through: last) { commit in
            try trial.show(commit)
            return true
        }
        try trial.end(now: last == newest ? Double(session.context.now()) / 1000 : nil)
        if let oldest, since != nil { try session.console.note(CommitLog.beginning(oldest)) }
        if trial.count == 0, session.console.form == .text {
            try session.console.note("\(effect.name) would have done nothing.")
        }
        return .success
    }

    /// The revision a day before `last`, or the oldest one that is kept.
    private func beginning(
        before last: Int, on connection: BusConnection, in session: CommandSession
    ) throws -> Int {
        let commits = try session.ask(
            BusRequest("history", ["since": .int(max(0, last - 1)), "until": .int(last), "limit": 1]),
            on: connection)
        let end = commits["commits"]?[0]?["time"]?.double ?? Double(session.context.now()) / 1000
        do {
            let found = try session.ask(
                BusRequest("history", ["time": .double(max(0, end - Self.day)), "limit": 1]), on: connection)
            return found["since"]?.int ?? 0
        } catch let error as BusError {
            guard let oldest = HistoryReader.oldest(in: error) else { throw error }
            return oldest
        }
    }
}

/// Checks commits for what an effect is about, and prints what the effect would have done.
private final class EffectTrial {
    private let effect: Effect
    private let session: CommandSession
    private let connection: BusConnection
    private(set) var count = 0
    /// Of an effect with a condition: for which stores it holds.
    private var tracker: ConditionTracker?
    /// When the last commit was made.
    private var time = 0.0

    init(_ effect: Effect, _ session: CommandSession, _ connection: BusConnection) {
        (self.effect, self.session, self.connection) = (effect, session, connection)
    }

    /// Takes note of what holds at a revision, or at the oldest one that is kept: that has not *become* true since.
    func begin(at revision: Int) throws {
        guard let hold = effect.becoming?.hold else { return }
        let holding: [String]
        do {
            holding = try revision > 0 ? stores(at: revision) : []
        } catch let error as BusError {
            guard let oldest = HistoryReader.oldest(in: error) else { throw error }
            holding = try stores(at: oldest)
        }
        tracker = ConditionTracker(hold: hold, holding: Set(holding))
    }

    /// Shows what has held for long enough at the end: now, or else when the last commit was made.
    func end(now: Double?) throws {
        for event in tracker?.events(at: now ?? time) ?? [] { try show(event) }
    }

    func show(_ commit: JSON) throws {
        guard let revision = commit["revision"]?.int else { return }
        time = commit["time"]?.double ?? time
        guard tracker == nil else {
            let stores = Set(try stores(at: revision))
            let events = tracker?.take(all: stores, at: revision, time, by: commit["by"] ?? [:]) ?? []
            return try events.forEach { try show($0) }
        }
        for (index, action) in commit.indexedActions {
            let store = action["store"]?.string
            guard
                effect.concerns(
                    action: action["action"]?.string ?? "", store: store, type: action["type"]?.string)
            else { continue }
            let stores = try store.map { [$0] } ?? self.stores(at: revision)
            for (place, store) in stores.enumerated() where store != effect.store {
                let part = action["store"] == nil ? place + 1 : 0
                let id = EffectEvent.ID(revision: revision, index: index, part: part)
                if let event = EffectEvent(id, store: store, in: commit, for: effect) { try show(event) }
            }
        }
    }

    private func stores(at revision: Int) throws -> [String] {
        let states = StateReader(
            session, connection, .match(effect.pattern.text),
            where: effect.becoming.map { .string($0.text) }, select: ["/-"], revision: revision)
        var stores: [String] = []
        while let (address, _) = try states.next() { stores.append(address) }
        return stores
    }

    private func show(_ event: EffectEvent) throws {
        var state: JSON?
        if effect.readsState {
            let reply = try session.ask(
                BusRequest("get", ["match": .string(event.store), "revision": .int(event.revision)]),
                on: connection)
            state = reply["states"]?[event.store] ?? .null
        }
        let data = event.data(for: effect, state: state)
        guard effect.isMeant(data) else { return }
        count += 1
        let outcome = Result { () throws(EffectRefusal) in try effect.task(data) }
        let text =
            switch outcome {
            case .success(let task): task.text
            case .failure(let refusal): "nothing: \(refusal.reason)"
            }
        let time = event.object["time"] ?? .null
        let what = [event.store, event.action].filter { !$0.isEmpty }.joined(separator: "  ")
        try session.console.answer(
            "\(event.id)  \(DispatchTimeArgument.text(of: time))  \(what)  →  \(text)",
            [
                "event": .string("\(event.id)"), "time": time, "store": .string(event.store),
                "action": .string(event.action), "do": .string(text),
            ])
    }
}
