import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus reload`: reloads definitions.
package struct ReloadCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon reload its configuration and state types.",
        discussion: """
            Examples:
              fluxbus reload
              fluxbus reload --dry-run        what it would migrate, and how, changing nothing

            Settings of the daemon that differ from those in force and that only a restart takes are named.
            Only root and the daemon's own user may, or those whom the access rules let manage the bus. A definition that is wrong, or that does not fit the stores \
            there are, is refused, and the bus keeps those it has.
            """)

    @Flag(help: "Show which types would be migrated and which states would change, and change nothing.")
    package var dryRun = false

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("reload", dryRun ? ["dryRun": true] : [:]))
        try Self.show(reply, isRehearsal: dryRun, on: session.console)
        return .success
    }

    /// Shows the reply to a reload, or what one would do.
    static func show(_ reply: JSONObject, isRehearsal: Bool, on console: Console) throws {
        guard console.form == .text else { return try console.line(.object(reply)) }
        for migration in reply["migrated"]?.array ?? [] {
            let (from, to) = (migration["from"]?.int ?? 0, migration["to"]?.int ?? 0)
            let type = ScreenText.safe(migration["type"]?.string ?? "")
            let stores = DispatchCommand.count(migration["stores"]?.int ?? 0, "store")
            try console.line("\(type): version \(from) to \(to), \(stores)")
        }
        let restart = reply["restart"]?.array?.compactMap(\.string) ?? []
        if !restart.isEmpty {
            let names = restart.map(ScreenText.safe).joined(separator: ", ")
            try console.line("takes a restart of the daemon: \(names)")
        }
        guard isRehearsal else {
            return try console.line("reloaded\(reply["revision"].map { ", revision \($0.encoded)" } ?? "")")
        }
        let types = reply["types"]?.array?.compactMap(\.string) ?? []
        // The states that would change, as they would be.
        for member in reply["states"]?.object?.members ?? [] {
            try console.line("\(ScreenText.safe(member.key)) \(ScreenText.safe(member.value.encoded))")
        }
        if reply["more"]?.bool == true { try console.line("… and more") }
        var changed = types.map(ScreenText.safe)
        if let stores = reply["changed"]?.int, stores > 0 {
            changed.append(DispatchCommand.count(stores, "store"))
        }
        let last = changed.popLast() ?? "nothing"
        let others = changed.isEmpty ? "" : changed.joined(separator: ", ") + " and "
        try console.line("dry run: \(others)\(last) would change")
    }
}
