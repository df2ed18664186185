import ArgumentParser
import FluxBus

/// `fluxbus dev`: what writing a state type takes, while one writes.
package struct DevCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Watch a directory of state types: check and test it on every change, reload on a key.",
        discussion: """
            Examples:
              fluxbus dev draft

            Whenever a file changes, all of them are checked and their tests are run. Where both are well, it shows what a reload would \
            change, and r or Enter reloads; q ends it. The bus is the one of --address, which reads its own directory: name that. \
            Where no bus answers, it starts one with the types of the directory and a store main of each, which ends with it; \
            what it prints makes other commands talk to that one. Exit code 0.
            """)

    @Argument(help: "The directory.", completion: .directory)
    package var directory: String

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try DevLoop(directory, session).run()
        return .success
    }
}
