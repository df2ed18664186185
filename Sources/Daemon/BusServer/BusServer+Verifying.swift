import BusHistory
import Glibc

/// Verifies the log, without a bus.
extension BusServer {
    /// Replays the log of a configuration and compares the result with its snapshots. `tell` receives a line for each.
    /// True when everything matches.
    package static func verify(
        _ setup: ServerSetup, tell: (String) -> Void
    ) throws(StartFailure) -> Bool {
        guard let settings = setup.configuration.log else {
            throw StartFailure(
                .configuration,
                "There is no log to verify; name its file under log:, with --log or FLUXBUS_LOG.")
        }
        let path = settings.path
        guard access(path.value, F_OK) == 0 else {
            throw StartFailure(
                .configuration,
                "There is no log at \(path.value); check the path, or start the daemon, which makes it.")
        }
        do throws(PastFailure) {
            let past = try LogPast(path: path.value)
            var isRight: Bool?
            while isRight == nil {
                isRight = try verify(
                    past, Replayer(knowing: setup.natives, hashSeed: .random(in: .min ... .max)), tell)
            }
            if isRight == true { tell("the log \(path.value) is right") }
            return isRight == true
        } catch {
            throw StartFailure(error.kind == .unreadable ? .log : .damaged, error.message)
        }
    }

    /// Nil when the daemon that writes the log has trimmed its beginning meanwhile.
    private static func verify(
        _ past: LogPast, _ replayer: Replayer, _ tell: (String) -> Void
    ) throws(PastFailure) -> Bool? {
        let oldest = try past.snapshots().first
        do throws(PastFailure) {
            return try Verification.verify(past, replayer) { finding in
                let what = "revision \(finding.revision): \(finding.stores) stores, digest \(finding.digest)"
                tell(finding.trouble.map { "\(what): \($0)" } ?? what)
            }
        } catch {
            guard error.kind == .gone, try past.snapshots().first != oldest else { throw error }
            tell("the beginning of the log was cut meanwhile; once more")
            return nil
        }
    }
}
