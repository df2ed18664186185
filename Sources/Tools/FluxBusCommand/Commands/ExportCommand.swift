import ArgumentParser
import FluxBus

/// `fluxbus export`: a bus as a file.
package struct ExportCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a bus and its history to a file: definitions, states, every commit since.",
        discussion: """
            Examples:
              fluxbus export -o house.ndjson
              fluxbus export --since 3 | zstd > house.ndjson.zst
              fluxbus export --since yesterday -o house.ndjson
              fluxbus export | jq -c 'select(.revision and .actions)'
              fluxbus export --faithful -o history.ndjson

            The first line says what it is; then come the definitions and states as they were at the revision where \
            it begins, the oldest that the log reaches back to or --since, and one line for each commit after it, \
            up to the newest when the export began. `fluxbus import` replays it on another bus, and \
            `fluxbus replay --check` tries changed definitions on it.

            That is what a client sees. With --faithful it is all that the log holds, from its beginning: sessions, timers, \
            keys, owners and access rules, too, from a copy that the daemon makes as for `fluxbus backup`. Of this \
            `fluxbus import --faithful` makes the same history on another machine. Only root and the daemon's own user may, or \
            those whom the access rules let manage the bus. Without --timeout the daemon has an hour to make the copy.
            """)

    @Option(
        help: ArgumentHelp("Begin with the states of this revision or time.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var since: RevisionArgument?

    @Flag(help: "Write all that the log holds, for import --faithful.")
    package var faithful = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which is there only when it is whole; standard output without it.",
            valueName: "file"), completion: .file())
    package var output: String?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { !(faithful && options.timeout.isGiven) }
    package var makesFiles: Bool { faithful || output != nil }

    package init() {}

    package func validate() throws {
        if faithful, since != nil {
            throw ValidationError("--faithful begins where the log does; leave --since out.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let exported: (base: Int, commits: Int)
        if let output {
            var file = try NewFile(output)
            exported = try export(to: Channel(descriptor: file.descriptor), in: session)
            try file.finish()
        } else {
            exported = try export(to: session.console.output, in: session)
        }
        let commits = DispatchCommand.count(exported.commits, "commit")
        try session.console.note("Exported revision \(exported.base) and \(commits) after it.")
        return .success
    }

    private func export(to output: Channel, in session: CommandSession) throws -> (
        base: Int, commits: Int
    ) {
        let connection = try session.connect()
        return faithful
            ? try FaithfulExporter(session: session, connection: connection, output: output).export()
            : try Exporter(session: session, connection: connection, output: output).export(since: since)
    }
}

/// `fluxbus import`: applies an exported file.
package struct ImportCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Replay an exported file on a running bus, as new commits.",
        discussion: """
            Examples:
              fluxbus import house.ndjson --dry-run
              fluxbus import house.ndjson
              zstd -dc house.ndjson.zst | fluxbus import -
              fluxbus import history.ndjson --faithful --log house.sqlite

            Stores that are missing are created as they were, then each recorded commit is dispatched, as one batch, \
            in order. An import that was cut off can be repeated by the same user: what was committed is not \
            committed again. What the bus refuses is reported and left out, and the code is that of the worst refusal. \
            The types must be there, and a definition that differs is reported. A revert becomes a drop and a creation with the \
            state that it brought back.

            So it is another history: the commits have the time of the import, its user as their author, other revisions, \
            and the epoch of the bus; expressions that read the time or the revision read those. Owners of stores, \
            timers that were set by requests, and keys are those of the import.

            With --faithful all of these stay. It makes the log of a bus that has none yet, or where nothing was ever committed, \
            of what `fluxbus export --faithful` has written: no daemon has the log meanwhile, so it becomes `fluxbusd --import`, \
            which replays everything before it puts the log in place. When the daemon starts, timers that are overdue fire, and \
            sessions of clients that were there end. Two buses of one epoch must not both go on, unless no client knows both.
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file())
    package var file: String

    @Flag(help: "Show what the file holds and how much of it the bus has, and change nothing.")
    package var dryRun = false

    @Flag(help: "Keep times, authors, revisions and the epoch: make a log of it, while no daemon has one.")
    package var faithful = false

    @Option(
        help: ArgumentHelp(
            "With --faithful: the log, instead of that of the daemon's configuration.", valueName: "file"),
        completion: .file())
    package var log: String?

    @Option(
        help: ArgumentHelp("With --faithful: the daemon's configuration.", valueName: "file"),
        completion: .file())
    package var config: String?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        if faithful, dryRun { throw ValidationError("--faithful does all or nothing; leave --dry-run out.") }
        if !faithful, log != nil || config != nil {
            throw ValidationError("A running bus has its log; --log and --config are for --faithful.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        if faithful {
            let places = [("--log", log), ("--config", config)].flatMap { name, value in
                value.map { [name, $0] } ?? []
            }
            return try OtherProgram.become("fluxbusd", ["--import", file] + places)
        }
        var reader = try RecordingReader(file, input: session.context.input)
        let importer = try Importer(session, header: reader.header, isDryRun: dryRun)
        try importer.run(&reader)
        try importer.tally.show(in: session.console, isDryRun: dryRun)
        return importer.status
    }
}
