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
