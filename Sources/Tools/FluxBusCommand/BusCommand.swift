import ArgumentParser
import FluxBus

/// A subcommand that talks to a bus. Its work is `perform`; running it in the process, or in a test's context, is
/// the same code.
package protocol BusCommand: ParsableCommand {
    var options: GlobalOptions { get }
    /// Does the work. Throws `CommandFailure` or `BusError`; a status other than success may also be returned.
    func perform(in session: CommandSession) throws -> CommandStatus
}

extension BusCommand {
    package func run() throws {
        let status = execute(in: .process())
        if status != .success { throw ExitCode(status.rawValue) }
    }

    /// Runs the command, reports errors on the context's messages, and returns the exit status.
    package func execute(in context: CommandContext) -> CommandStatus {
        let session = CommandSession(options: options, context: context)
        do {
            let status = try perform(in: session)
            try session.console.flush()
            return status
        } catch {
            // What was written before the failure belongs to the result.
            try? session.console.flush()
            let failure =
                switch error {
                case let failure as CommandFailure: failure
                case let error as BusError: CommandFailure(error)
                default: CommandFailure(.internal, "Unexpected error: \(error).")
                }
            session.console.report(failure)
            return failure.status
        }
    }
}
