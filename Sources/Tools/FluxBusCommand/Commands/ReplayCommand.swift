import ArgumentParser
import BusDefinitions
import BusLogic

/// `fluxbus replay`: applies an exported file in memory, with other definitions.
package struct ReplayCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Check what changed definitions would have made of an exported file.",
        discussion: """
            Examples:
              fluxbus replay --check house.ndjson --types /etc/fluxbus/types
              fluxbus replay --check house.ndjson --types draft --json | jq '.differences // empty'
              fluxbus replay --check house.ndjson --types draft --since 0
              fluxbus replay --types /etc/fluxbus/types --against draft house.ndjson

            No bus is needed and none is changed: every recorded commit is replayed in memory, at its \
            time and under its revision, once with the recorded definitions and once with those in --types, and what \
            differs is reported, commit by commit. It begins with the states after the newest migration in the file, \
            because a later version seldom comes to what an earlier one did; --since says otherwise. With --against \
            it is those in --types, or the recorded ones where --types is left out, that are compared with others. What one \
            of both refuses differs, too. The code is 0 when nothing differs, and 1 when something does. What was refused when it was recorded is not in the file. Types compiled into a \
            daemon keep their mutations to themselves: their actions change nothing here. `fluxbus import` replays a \
            file on a bus.
            """)

    @Flag(help: "What it does in any case; scripts may say so.")
    package var check = false

    @Argument(help: "The file.", completion: .file())
    package var file: String

    @Option(
        help: ArgumentHelp(
            "The directory of definitions to compare with those of the file, or with those of --against.",
            valueName: "directory"), completion: .directory)
    package var types: String?

    @Option(
        help: ArgumentHelp(
            "Compare with the definitions in this directory what those in --types make, or those of the file.",
            valueName: "directory"), completion: .directory)
    package var against: String?

    @Option(
        help: ArgumentHelp(
            "Compare what came after this revision. Default: the newest migration in the file, or its beginning.",
            valueName: "revision"))
    package var since: Int?

    @Option(
        help: ArgumentHelp(
            "Show at most this many commits that differ. Default: 20 for people, all for programs.",
            valueName: "number"))
    package var limit: Int?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        if file == "-" { throw ValidationError("A check reads the file twice: name a file.") }
        guard types != nil || against != nil else {
            throw ValidationError("Name a directory of definitions: --types, --against, or both.")
        }
        guard limit ?? 1 >= 0 else { throw ValidationError("--limit must be at least 0.") }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let named = try types.map(Self.load)
        let others = try against.map(Self.load)
        var preview = try RecordingReader(file, input: session.context.input)
        let outline = try RecordingOutline(&preview)
        var reader = try RecordingReader(file, input: session.context.input)
        let header = reader.header
        let start = max(header.base, since ?? outline.newestMigration ?? header.base)
        guard start <= header.last else {
            throw CommandFailure(
                .usage, "\(file) ends with revision \(header.last): begin with an earlier one.")
        }
        if since == nil, start > header.base {
            try session.console.note(
                "Compared from revision \(start) on, the newest migration; --since \(header.base) compares everything."
            )
        }
        // The recorded ones stand first where only one directory is named.
        let comparison = ReplayComparison(
            header, since: start, others == nil ? nil : named, others ?? named ?? [], outline)
        var report = ReplayReport(
            console: session.console, limit: limit ?? (session.console.form == .text ? 20 : nil))
        try session.console.showingProgress("replaying", total: header.count) { meter in
            while let entry = try reader.next() {
                for deviation in try comparison.take(entry) { try report.show(deviation, base: start) }
                if case .commit(let commit) = entry { try meter?.reached(commit.revision - header.base) }
            }
        }
        try report.summarize(comparison)
        return comparison.isEqual ? .success : .no
    }

    private static func load(_ directory: String) throws -> [DeclaredType] {
        do {
            return try TypeCatalog.load(directory).types
        } catch {
            throw CommandFailure(.refused, error.lines.joined(separator: "\n"))
        }
    }
}
