import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus types`: the state types and their actions.
package struct TypesCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "List state types and their actions, or show one.",
        discussion: """
            Examples:
              fluxbus types
              fluxbus types counter
              fluxbus types --json | jq -r .type
            """)

    @Argument(help: "One type, to see all of it.", completion: .custom(BusCompletion.types))
    package var type: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("types", ["type": type.map(JSON.string)]))
        let definitions = reply["types"]?.array ?? []
        let console = session.console
        if console.form == .lines {
            for definition in definitions { try console.line(definition) }
        } else if type != nil {
            for definition in definitions { try show(definition, in: console) }
        } else {
            var table = Table("TYPE", "ACTIONS", "")
            for definition in definitions {
                let actions = definition["actions"]?.object?.keys ?? []
                table.add(
                    .init(definition["type"]?.string ?? "", .address), .init(actions.joined(separator: " ")),
                    .init(definition["summary"]?.string ?? "", .faint))
            }
            if !table.isEmpty { try console.table(table) }
        }
        return .success
    }

    private func show(_ definition: JSON, in console: Console) throws {
        let style = console.style
        let name = ScreenText.safe(definition["type"]?.string ?? "")
        let summary = ScreenText.safe(definition["summary"]?.string ?? "")
        try console.line(style.paint(name, .address) + (summary.isEmpty ? "" : "  " + summary))
        if let initial = definition["initial"] {
            try console.line(style.paint("initial", .heading) + "  " + ScreenText.value(initial))
        }
        if let computed = definition["computed"]?.object, !computed.isEmpty {
            try console.line(style.paint("computed", .heading))
            var table = Table()
            for member in computed {
                table.add(.init("  " + member.key), .init(member.value.encoded, .faint))
            }
            try console.table(table)
        }
        try console.line(style.paint("actions", .heading))
        var table = Table()
        for member in definition["actions"]?.object ?? [:] {
            table.add(
                .init("  " + member.key, .new), .init(Self.signature(member.value["payload"])),
                .init(member.value["summary"]?.string ?? "", .faint))
        }
        try console.table(table)
    }

    /// A payload's schema in short: `by: integer = 1, room: string?`.
    static func signature(_ payload: JSON?) -> String {
        (payload?.object ?? [:]).map { member in
            let schema = member.value
            guard let kind = schema["type"] ?? (schema.string != nil ? schema : nil) else {
                return "\(member.key): \(schema.encoded)"
            }
            let fallback = schema["default"].map { " = " + $0.encoded } ?? ""
            return "\(member.key): \(kind.string ?? kind.encoded)\(fallback)"
        }.joined(separator: ", ")
    }
}
