import BusLog

/// Rewrites the log, without a bus.
extension BusServer {
    /// Rewrites the log of a configuration in as little room as it needs. `tell` receives a line for each finding.
    package static func compact(_ setup: ServerSetup, tell: (String) -> Void) throws(StartFailure) {
        guard let path = setup.configuration.log?.path.value else {
            throw StartFailure(
                .configuration,
                "There is no log to compact; name its file under log:, with --log or FLUXBUS_LOG.")
        }
        do throws(LogFailure) {
            let outcome = try LogFile.compact(path, bootID: BootID.read())
            outcome.notices.forEach(tell)
            tell("the log \(path) is compact: \(outcome.after) bytes, \(outcome.before) before")
        } catch {
            throw StartFailure(LogStart.code(of: error), error.message)
        }
    }
}
