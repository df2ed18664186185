import ArgumentParser
import FluxBus
import Glibc

/// `fluxbus lock`: runs a command while this is the only one that may.
package struct LockCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Run a command while holding a lease, so that it runs only once at a time on all machines.",
        discussion: """
            Examples:
              fluxbus lock lease/boiler -- echo I drive the boiler
              fluxbus lock lease/backup --wait 0 --conflict-exit-code 0 -- sh -c 'echo "$FLUXBUS_REVISION"'

            The store is created, renewed while the command runs, and dropped when it ends. So its type needs what \
            config/types/lease.yaml has: a state with a text `holder`, an action `renew` with the same, and a `ttl`, unless \
            --ttl gives one. When it is held already, this waits until it is free: for --wait, else as long as it takes.

            The command has FLUXBUS_STORE in its environment, and FLUXBUS_REVISION, the fencing token: who gets the lease \
            later has a higher one, so what the command writes to can refuse a lower one. Signals are passed on to the command.

            The status is the command's. It is --conflict-exit-code when the lease was not free in time, and 69 when it was \
            lost: taken away, or not renewed because no bus answered for two thirds of the ttl. Then the command is ended \
            with SIGTERM, and when the ttl is over with SIGKILL, before somebody else can have the lease.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.targets))
    package var store: String

    @Option(help: "How long to wait until it is free: 500ms, 10s, 0, or never for no limit.")
    package var wait = TimeSpan(argument: "never") ?? TimeSpan(duration: nil)

    @Option(
        help: ArgumentHelp(
            "For how long it is held when it is not renewed: 10s, 1m; else as the type says.",
            valueName: "time"))
    package var ttl: String?

    @Option(help: ArgumentHelp("The status when it was not free in time.", valueName: "status"))
    package var conflictExitCode = CommandStatus.temporary.rawValue

    @Argument(parsing: .postTerminator, help: "The command, behind --.")
    package var command: [String] = []

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard store.contains("/") else {
            throw ValidationError("Name one store, TYPE/NAME, as in: fluxbus lock lease/\(store) -- COMMAND")
        }
        guard !command.isEmpty else {
            throw ValidationError("Write the command behind --, as in: fluxbus lock \(store) -- echo mine")
        }
        guard 0...255 ~= conflictExitCode else {
            throw ValidationError("--conflict-exit-code is from 0 to 255.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let lease = try Lease(session, store: store, ttl: ttl)
        guard let token = try lease.acquire(within: wait) else { throw ProgramEnd(status: conflictExitCode) }
        throw ProgramEnd(status: try lease.run(command, token: token))
    }
}
