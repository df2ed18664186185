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

            The first line says what it is; then come the definitions and states as they were at the revision where \
            it begins, the oldest that the log reaches back to or --since, and one line for each commit after it, \
            up to the newest when the export began. `fluxbus import` replays it on another bus, and \
            `fluxbus replay --check` tries changed definitions on it.
            """)

    @Option(
        help: ArgumentHelp("Begin with the states of this revision or time.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var since: RevisionArgument?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which is there only when it is whole; standard output without it.",
            valueName: "file"), completion: .file())
    package var output: String?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let header: Recording.Header
        if let output {
            var file = try NewFile(output)
            let channel = Channel(descriptor: file.descriptor)
            header = try Exporter(session: session, connection: connection, output: channel)
                .export(since: since)
            try file.finish()
        } else {
            header = try Exporter(session: session, connection: connection, output: session.console.output)
                .export(since: since)
        }
        let commits = DispatchCommand.count(header.count, "commit")
        try session.console.note("Exported revision \(header.base) and \(commits) after it.")
        return .success
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

            Stores that are missing are created as they were, then each recorded commit is dispatched, as one batch, \
            in order. An import that was cut off can be repeated by the same user: what was committed is not \
            committed again. What the bus refuses is reported and left out, and the code is that of the worst refusal. \
            Expressions that read the time or the revision read those of the import. The types must be there, and \
            a definition that differs is reported. A revert becomes a drop and a creation with the state that \
            it brought back.
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file())
    package var file: String

    @Flag(help: "Show what the file holds and how much of it the bus has, and change nothing.")
    package var dryRun = false

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var reader = try RecordingReader(file, input: session.context.input)
        let importer = try Importer(session, header: reader.header, isDryRun: dryRun)
        try importer.run(&reader)
        try importer.tally.show(in: session.console, isDryRun: dryRun)
        return importer.status
    }
}
