import BusHistory

/// Looking through the log, without a bus.
extension BusServer {
    /// Carries the log of a configuration out and compares with its snapshots. `tell` is given a line for each. True when
    /// everything is right.
    package static func verify(
        _ setup: ServerSetup, tell: (String) -> Void
    ) throws(StartFailure) -> Bool {
        guard let settings = setup.configuration.log else {
            throw StartFailure(
                .configuration,
                "There is no log to verify; name its file under log:, with --log or FLUXBUS_LOG.")
        }
        do throws(PastFailure) {
            let past = try LogPast(path: settings.path.value)
            let isRight = try Verification.verify(past, Replayer(setup.replaying)) { finding in
                let what = "revision \(finding.revision): \(finding.stores) stores, digest \(finding.digest)"
                tell(finding.trouble.map { "\(what): \($0)" } ?? what)
            }
            if isRight { tell("the log \(settings.path.value) is right") }
            return isRight
        } catch {
            throw StartFailure(error.kind == .damaged ? .damaged : .log, error.message)
        }
    }
}
