import ArgumentParser
import FluxBus

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

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try Self.run(file, isDryRun: dryRun, in: session)
    }

    /// The same for `replay`.
    static func run(_ file: String, isDryRun: Bool, in session: CommandSession) throws -> CommandStatus {
        var reader = try RecordingReader(file, input: session.context.input)
        let importer = try Importer(session, header: reader.header, isDryRun: isDryRun)
        try importer.run(&reader)
        try importer.tally.show(in: session.console, isDryRun: isDryRun)
        return importer.status
    }
}
