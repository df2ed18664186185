import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus reload`: reloads definitions.
package struct ReloadCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon load its state types again.",
        discussion: """
            Only root and the daemon's own user may. A definition that is wrong is refused, and the bus goes on \
            with those it has.
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("reload"))
        if session.console.form == .text {
            try session.console.line("reloaded\(reply["revision"].map { ", revision \($0.encoded)" } ?? "")")
        } else {
            try session.console.line(.object(reply))
        }
        return .success
    }
}
