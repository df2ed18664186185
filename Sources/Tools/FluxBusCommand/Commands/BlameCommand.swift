import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus blame`: which commit last changed a value.
package struct BlameCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Show which commit last changed a value: when, by whom, with which action.",
        discussion: """
            Examples:
              fluxbus blame counter/kitchen              each member of the state
              fluxbus blame counter/kitchen /count       one value, a JSON Pointer
              fluxbus blame todo/home /items/milk/done --at now-1

            A value that has not changed since the log begins has no such commit: then the oldest revision \
            that can be read is shown. In a pipe each line is one value, with `old` and `new`. If there is \
            nothing at the pointer, now and in all of the log, the code is 1.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.stores))
    package var store: String

    @Argument(help: "A JSON Pointer, as in /items/milk; every member without one.")
    package var path: String?

    @Option(
        help: ArgumentHelp("As it was at this revision or time. (default: now)", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var at = RevisionArgument.beforeNow(0)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store.contains("/") else {
            throw ValidationError("Name one store, TYPE/NAME; `fluxbus ls \(store)` lists those of a type.")
        }
        if let path, (try? JSONPointer(path)) == nil {
            throw ValidationError("`\(path)` is not a JSON Pointer: begin with a slash, as in /count.")
        }
    }

    /// A longer action would push the values off the screen; for a single value it is shown in full.
    private static let widestAction = 48

    /// What the bus says of one part.
    private struct Finding {
        let path: JSONPointer
        /// The part now; nil where there is none.
        let value: JSON?
        /// The commit that changed it last; nil when that is older than the log.
        let commit: JSON?
        /// The part before that commit; nil where there was none.
        let old: JSON?
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let newest = try HistoryReader(session, connection).newest()
        let revision = try at.resolved(on: connection, in: session, newest: newest)
        let reply = try session.ask(
            BusRequest(
                "blame",
                ["store": .string(store), "path": path.map(JSON.string), "revision": .int(revision)]),
            on: connection)
        let floor = reply["oldest"]?.int ?? 0
        let findings = try (reply["values"]?.array ?? []).map { value in
            Finding(
                path: try JSONPointer(value["path"]?.string ?? ""), value: value["value"],
                commit: value["commit"], old: value["old"])
        }
        if let path, let finding = findings.first, finding.value == nil, finding.commit == nil {
            throw CommandFailure(
                .no, "There is nothing at \(path) of \(store), and has not been since revision \(floor).")
        }
        try show(findings, floor: floor, in: session)
        return .success
    }

    private func show(_ findings: [Finding], floor: Int, in session: CommandSession) throws {
        let console = session.console
        if console.form == .lines {
            for finding in findings { try console.line(object(finding, floor: floor)) }
        } else if path != nil {
            for finding in findings { try showOne(finding, floor: floor, in: session) }
        } else {
            var table = Table("REVISION", "TIME", "BY", "ACTION", "VALUE")
            for finding in findings {
                let commit = finding.commit ?? .null
                let name = ScreenText.path(finding.path.tokens.map { .key($0) })
                table.add(
                    .init(commit["revision"]?.encoded ?? "≤ \(floor)", .address),
                    .init(CommitText.time(of: commit), .faint),
                    .init(CommitText.identity(of: commit, session.users), .faint),
                    .init(ScreenText.cut(action(of: finding), to: Self.widestAction)),
                    .init("\(name) \(finding.value?.encoded ?? "")"))
            }
            try console.table(table)
        }
    }

    private func showOne(_ finding: Finding, floor: Int, in session: CommandSession) throws {
        var table = Table()
        let commit = finding.commit ?? .null
        table.add(
            .init("revision", .faint), .init(commit["revision"]?.encoded ?? "≤ \(floor)", .address))
        if finding.commit != nil {
            table.add(.init("time", .faint), .init(CommitText.time(of: commit)))
            table.add(.init("by", .faint), .init(CommitText.identity(of: commit, session.users)))
        }
        table.add(.init("action", .faint), .init(action(of: finding)))
        if finding.commit != nil {
            table.add(.init("old", .faint), .init(finding.old?.encoded ?? "none", .old))
        }
        table.add(.init("new", .faint), .init(finding.value?.encoded ?? "none", .new))
        try session.console.table(table)
    }

    private func action(of finding: Finding) -> String {
        finding.commit.map { CommitText.summary(of: $0, concerning: store) } ?? "before the log begins"
    }

    /// The finding with the commit's own members, except its states, which are no single value.
    private func object(_ finding: Finding, floor: Int) -> JSON {
        var object = finding.commit?.object ?? ["before": .int(floor)]
        object["states"] = nil
        object["store"] = .string(store)
        object["path"] = .string(finding.path.description)
        object["old"] = finding.old
        object["new"] = finding.value
        return .object(object)
    }
}
