import ArgumentParser
import BusDefinitions
import BusJSON
import BusLogic
import FluxBus
import TypeCode

/// `fluxbus types show`, or `fluxbus types` alone: shows the state types and their actions to people, and prints them as code in
/// other languages.
package struct TypesShowCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "List state types and their actions, show one, or print one as code.",
        discussion: """
            Examples:
              fluxbus types
              fluxbus types counter
              fluxbus types --json | jq -r .type
              fluxbus types counter --at now-1               as it was before the newest commit
              fluxbus types counter --swift > Counter.swift
              fluxbus types --file /etc/fluxbus/types/door.yaml --typescript > door.ts
              fluxbus types thermostat --json-schema | jq '."$defs".state'

            The code has the state, the actions and their payloads, with the summaries as comments, for the client library of \
            the language. The members of a state have types where the definition has `state`; without it they may be anything. \
            JSON Schema describes a state, and as "$defs"/"payload.ACTION" each payload.

            With --file no bus is needed: the definition is read and checked, as a daemon would. So code can be made \
            where programs are built.
            """)

    @Argument(help: "Only this type, in full.", completion: .custom(BusCompletion.types))
    package var type: String?

    @Flag(help: "Print the type as code in this language.")
    package var language: CodeLanguage?

    @Option(
        help: ArgumentHelp("Read the type from a definition instead of asking the bus.", valueName: "path"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    package var file: String?

    @Option(
        help: ArgumentHelp("As they were at this revision or time.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var at: RevisionArgument?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        if file != nil, let type {
            throw ValidationError("The file of --file says which type it is: leave \(type) out.")
        }
        if file != nil, at != nil { throw ValidationError("A file has no past: leave --at out.") }
        if language != nil, type == nil, file == nil {
            throw ValidationError("Code is printed for one type: name it, or its definition with --file.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let definitions = try definitions(in: session)
        let console = session.console
        if let language {
            for definition in definitions {
                let computed = (try? DeclaredType(definition: definition))?.computedSchemas ?? [:]
                guard let type = TypeDescription(definition: definition, computed: computed) else { continue }
                try console.output.write(language.language.code(for: type))
            }
        } else if console.form == .lines {
            for definition in definitions { try console.line(definition) }
        } else if type != nil || file != nil {
            for definition in definitions { try show(definition, in: console) }
        } else {
            // Mostly there is nothing to say about the log.
            let showsLog = definitions.contains { $0.logReach != .whole }
            var table = Table(["TYPE"] + (showsLog ? ["LOG"] : []) + ["ACTIONS", ""])
            for definition in definitions {
                let actions = definition["actions"]?.object?.keys ?? []
                table.add(
                    [.init(definition["type"]?.string ?? "", .address)]
                        + (showsLog ? [.init(Self.log(of: definition))] : []) + [
                            .init(actions.joined(separator: " ")),
                            .init(definition["summary"]?.string ?? "", .faint),
                        ])
            }
            try console.table(table, orNote: "There is no state type.")
        }
        return .success
    }

    /// What the log keeps of a type, as its definition says: `keep: latest`, `for: 30d`; empty for everything.
    private static func log(of definition: JSON) -> String {
        guard definition.logReach != .whole else { return "" }
        return (definition["log"]?.object?.members ?? []).filter { $0.value != "all" }.map {
            "\($0.key): \($0.value.string ?? $0.value.encoded)"
        }.joined(separator: ", ")
    }

    private func definitions(in session: CommandSession) throws -> [JSON] {
        guard let file else {
            let connection = try session.connect()
            let revision = try at?.resolved(on: connection, in: session)
            let request = BusRequest(
                "types", ["type": type.map(JSON.string), "revision": revision.map(JSON.int)])
            return try session.ask(request, on: connection)["types"]?.array ?? []
        }
        do {
            return [try TypeCatalog.definition(in: file)]
        } catch {
            throw CommandFailure(.refused, error.lines.joined(separator: "\n"))
        }
    }

    private func show(_ definition: JSON, in console: Console) throws {
        let style = console.style
        let name = ScreenText.safe(definition["type"]?.string ?? "")
        let summary = ScreenText.safe(definition["summary"]?.string ?? "")
        try console.line(style.paint(name, .address) + (summary.isEmpty ? "" : "  " + summary))
        if let initial = definition["initial"] {
            try console.line(style.paint("initial", .heading) + "  " + ScreenText.value(initial))
        }
        if let log = definition["log"] {
            try console.line(style.paint("log", .heading) + "  " + ScreenText.value(log))
        }
        try show(definition["state"], as: "state", in: console) {
            [.init(Self.kind($0)), .init($0["summary"]?.string ?? "", .faint)]
        }
        try show(definition["computed"], as: "computed", in: console) { [.init($0.encoded, .faint)] }
        try console.line(style.paint("actions", .heading))
        var table = Table()
        for member in definition["actions"]?.object ?? [:] {
            table.add(
                .init("  " + member.key, .new), .init(Self.signature(member.value["payload"])),
                .init(member.value["summary"]?.string ?? "", .faint))
        }
        try console.table(table)
    }

    /// A part of the definition, one row for each member; no rows if it is missing.
    private func show(
        _ part: JSON?, as heading: String, in console: Console, row: (JSON) -> [Table.Cell]
    ) throws {
        guard let members = part?.object, !members.isEmpty else { return }
        try console.line(console.style.paint(heading, .heading))
        var table = Table()
        for member in members { table.add([.init("  " + member.key)] + row(member.value)) }
        try console.table(table)
    }

    /// A payload's schema in short: `by: integer = 1, room: string?`.
    static func signature(_ payload: JSON?) -> String {
        (payload?.object ?? [:]).map { "\($0.key): \(kind($0.value))" }.joined(separator: ", ")
    }

    /// The schema of one value in short: `integer = 1`, `string?`.
    private static func kind(_ schema: JSON) -> String {
        guard let kind = schema["type"] ?? (schema.string != nil ? schema : nil) else {
            return schema.encoded
        }
        let fallback = schema["default"].map { " = " + $0.encoded } ?? ""
        return "\(kind.string ?? kind.encoded)\(fallback)"
    }
}

/// The languages of `fluxbus types`, as flags of which one may be given.
package enum CodeLanguage: String, EnumerableFlag {
    case swift, typescript, python, c, go, rust, jsonSchema

    var language: TypeLanguage {
        switch self {
        case .swift: .swift
        case .typescript: .typescript
        case .python: .python
        case .c: .c
        case .go: .go
        case .rust: .rust
        case .jsonSchema: .jsonSchema
        }
    }

    package static func help(for value: CodeLanguage) -> ArgumentHelp? {
        switch value {
        case .swift: "Print the type as Swift, for the client library."
        case .typescript: "Print the type as TypeScript, for the client library."
        case .python: "Print the type as Python, 3.11 or later, for the client library."
        case .c: "Print the type as a header of C11, for libfluxbus."
        case .go: "Print the type as a package of Go, for the client library."
        case .rust: "Print the type as a module of Rust, for the client library."
        case .jsonSchema: "Print the type as JSON Schema, 2020-12."
        }
    }
}
