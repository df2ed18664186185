import BusHistory
import Glibc

/// Verifies the log, without a bus.
extension BusServer {
    /// How far a verification is: the revisions of the log that it has come to, and all of them.
    package typealias VerificationProgress = (_ done: Int, _ total: Int) -> Void

    /// Replays the log of a configuration and compares the result with its snapshots. `tell` receives a line for each,
    /// and `progress` is called now and then. True when everything matches.
    package static func verify(
        _ setup: ServerSetup, progress: VerificationProgress = { _, _ in }, tell: (String) -> Void
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
        let past: LogPast
        var isRight: Bool?
        do throws(PastFailure) {
            past = try LogPast(standing: path.value)
        } catch {
            throw failure(error)
        }
        do throws(PastFailure) {
            while isRight == nil {
                isRight = try verify(
                    past, Replayer(knowing: setup.natives, hashSeed: .random(in: .min ... .max)), progress,
                    tell)
            }
            if isRight == true { try past.requireEnd() }
        } catch {
            guard past.wasWritten else { throw failure(error) }
        }
        if isRight == true {
            tell("log OK: \(path.value)")
            return true
        }
        guard past.wasWritten else { return false }
        tell("a daemon has begun to write the log while it was read; starting over")
        return try verify(setup, progress: progress, tell: tell)
    }

    private static func failure(_ failure: PastFailure) -> StartFailure {
        StartFailure(failure.kind == .unreadable ? .log : .damaged, failure.message)
    }

    /// Nil when the daemon that writes the log has trimmed or thinned its beginning meanwhile.
    private static func verify(
        _ past: LogPast, _ replayer: Replayer, _ progress: VerificationProgress, _ tell: (String) -> Void
    ) throws(PastFailure) -> Bool? {
        let oldest = try past.snapshots().first
        let last = try past.lastRevision(by: .max)
        do throws(PastFailure) {
            return try Verification.verify(
                past, replayer, progress: { report($0, oldest, last, progress) }
            ) { finding in
                let what = "revision \(finding.revision): \(finding.stores) stores, digest \(finding.digest)"
                tell(finding.trouble.map { "\(what): \($0)" } ?? what)
            }
        } catch {
            if error.kind != .thinned {
                guard error.kind == .gone, try past.snapshots().first != oldest else { throw error }
            }
            tell("the beginning of the log was trimmed while it was read; starting over")
            return nil
        }
    }

    /// Tells progress in revisions of the log itself, which may begin late.
    static func report(_ revision: Int, _ oldest: Int?, _ last: Int, _ progress: VerificationProgress) {
        let base = oldest ?? 0
        progress(revision - base, last - base)
    }
}
