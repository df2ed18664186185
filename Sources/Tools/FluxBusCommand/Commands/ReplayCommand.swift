import ArgumentParser
import BusDefinitions
import BusLogic

/// `fluxbus replay`: applies an exported file on a bus, or in memory with other definitions.
package struct ReplayCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract:
            "Replay an exported file, or check what changed definitions would have made of it.",
        discussion: """
            Examples:
              fluxbus replay --check house.ndjson --types /etc/fluxbus/types
              fluxbus replay --check house.ndjson --types draft --json | jq '.differences // empty'
              fluxbus replay house.ndjson                   the same as fluxbus import

            With --check no bus is needed and none is changed: every recorded commit is replayed in memory, at its \
            time and under its revision, once with the recorded definitions and once with those in --types, and what \
            differs is reported, commit by commit. The code is 0 when nothing differs, and 1 when \
            something does not. What was refused when it was recorded is not in the file. Types compiled into a \
            daemon keep their mutations to themselves: their actions change nothing here.
            """)

    @Flag(help: "Compare in memory what --types would have made of it, and change nothing.")
    package var check = false

    @Argument(help: "The file; - for standard input, unless it is checked.", completion: .file())
    package var file: String

    @Option(
        help: ArgumentHelp("The directory of definitions to check.", valueName: "directory"),
        completion: .directory)
    package var types: String?

    @Option(
        help: ArgumentHelp(
            "Show at most this many commits that differ. Default: 20 for people, all for programs.",
            valueName: "number"))
    package var limit: Int?

    @Flag(
        help: "Without --check: show what the file holds and how much of it the bus has, and change nothing.")
    package var dryRun = false

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard check == (types != nil) else {
            throw ValidationError("--check and --types belong together: it checks the definitions in there.")
        }
        if check && file == "-" { throw ValidationError("A check reads the file twice: name a file.") }
        if check && dryRun { throw ValidationError("A check changes nothing: leave --dry-run out.") }
        guard limit ?? 1 >= 0 else { throw ValidationError("--limit must be at least 0.") }
        if limit != nil && !check { throw ValidationError("--limit goes with --check.") }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        guard let types else { return try ImportCommand.run(file, isDryRun: dryRun, in: session) }
        let candidates: [DeclaredType]
        do {
            candidates = try TypeCatalog.load(types).types
        } catch {
            throw CommandFailure(.refused, error.lines.joined(separator: "\n"))
        }
        var preview = try RecordingReader(file, input: session.context.input)
        let reverts = try RevertedStates(&preview)
        var reader = try RecordingReader(file, input: session.context.input)
        let comparison = ReplayComparison(reader.header, types: candidates, reverts: reverts)
        var report = ReplayReport(
            console: session.console, limit: limit ?? (session.console.form == .text ? 20 : nil))
        let header = reader.header
        try session.console.showingProgress("replaying", total: header.count) { meter in
            while let entry = try reader.next() {
                if let deviation = try comparison.take(entry) {
                    try report.show(deviation, base: header.base)
                }
                if case .commit(let commit) = entry { try meter?.reached(commit.revision - header.base) }
            }
        }
        try report.summarize(comparison)
        return comparison.isEqual ? .success : .no
    }
}
