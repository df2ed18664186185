import ArgumentParser
import FluxBus

/// `fluxbus cluster rescue`: becomes `fluxbusd --rescue`, which needs no daemon and reads its configuration.
package struct ClusterRescueCommand: BusCommand {
    package enum Step: String, CaseIterable, ExpressibleByArgument { case look, begin, replace }

    package static let configuration = CommandConfiguration(
        commandName: "rescue",
        abstract: "Bring the bus back after a loss that its members do not make good by themselves.",
        discussion: """
            Examples:
              fluxbus cluster rescue                        what is here, and what to do
              fluxbus cluster rescue begin                  what would be done, and what is lost, in revisions
              fluxbus cluster rescue begin --yes            the bus begins in an empty etcd, with this machine's copy
              fluxbus cluster rescue begin old.sqlite --yes
              fluxbus cluster rescue replace --yes          this machine's copy is moved aside for another member's

            It works on the machine whose daemon is stopped, as root, by that daemon's configuration. Without --yes nothing \
            is changed. It refuses what would lose more than is lost. Nothing is removed: what a copy replaces is kept beside it.
            """)

    @Argument(help: "What to do: look, begin or replace.")
    package var step = Step.look

    @Argument(help: "Begin with this file instead of the machine's own copy.", completion: .file())
    package var copy: String?

    @Flag(help: "Do it, instead of only telling what would be done.")
    package var yes = false

    @Option(
        help: ArgumentHelp("The configuration of the daemon.", valueName: "file"), completion: .file())
    package var config: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try OtherProgram.become("fluxbusd", passed)
    }

    /// What `fluxbusd` is given.
    package var passed: [String] {
        ["--rescue", step.rawValue] + (copy.map { ["--copy", $0] } ?? []) + (yes ? ["--yes"] : [])
            + (config.map { ["--config", $0] } ?? [])
    }
}
