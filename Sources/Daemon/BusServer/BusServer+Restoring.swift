import BusHistory
import BusLog
import Glibc

/// Replaces the log by a copy, without a bus.
extension BusServer {
    /// Verifies a copy, as `verify` does, gives its history a new epoch and replaces the log of a configuration by it.
    /// `tell` receives a line for each step, and `progress` is called now and then while the copy is verified.
    package static func restore(
        _ copy: String, _ setup: ServerSetup, progress: VerificationProgress = { _, _ in },
        tell: (String) -> Void
    ) throws(StartFailure) {
        let path = try logPath(of: setup, for: "restore")
        try restore(copy, to: path, setup, progress: progress, tell: tell)
    }

    /// - Parameter renews: The copy may be the log itself.
    static func restore(
        _ copy: String, to path: String, renews: Bool = false, _ setup: ServerSetup,
        progress: VerificationProgress, tell: (String) -> Void
    ) throws(StartFailure) {
        let epoch = UUIDText.random()
        do throws(LogFailure) {
            let outcome = try LogRestore.restore(copy, to: path, renews: renews, epoch: epoch) {
                (scratch) throws(LogFailure) in
                try check(scratch, of: copy, "The copy \(copy)", setup, progress)
            }
            tell("the log \(path) is restored from \(copy): revision \(outcome.revision), epoch \(epoch)")
            if let aside = outcome.aside { tell("the log before it is kept as \(aside)") }
        } catch {
            throw StartFailure(code(of: error, copy), error.message)
        }
    }

    /// The path of a configuration's log. Throws where it has none.
    ///
    /// - Parameter purpose: What is done with the log, for the message: `restore`.
    static func logPath(of setup: ServerSetup, for purpose: String) throws(StartFailure) -> String {
        if let path = setup.configuration.log?.path.value { return path }
        throw StartFailure(
            .configuration,
            "There is no log to \(purpose); name its file under log:, with --log or FLUXBUS_LOG.")
    }

    /// Throws unless the commits in a file make the states that its snapshots hold.
    ///
    /// - Parameters:
    ///   - source: What the file was made of.
    ///   - name: What it is called in messages.
    static func check(
        _ scratch: String, of source: String, _ name: String, _ setup: ServerSetup,
        _ progress: VerificationProgress
    ) throws(LogFailure) {
        let replayer = Replayer(knowing: setup.natives, hashSeed: .random(in: .min ... .max))
        var troubles: [String] = []
        do throws(PastFailure) {
            let past = try LogPast(path: scratch)
            let (oldest, last) = (try past.snapshots().first, try past.lastRevision(by: .max))
            _ = try Verification.verify(
                past, replayer, progress: { report($0, oldest, last, progress) }
            ) { finding in
                if let trouble = finding.trouble {
                    troubles.append("revision \(finding.revision): \(trouble)")
                }
            }
        } catch {
            guard error.kind != .unreadable else { throw LogFailure(.io, path: source, error.message) }
            troubles.append(error.message)
        }
        if !troubles.isEmpty {
            throw LogFailure(
                .damaged, path: source,
                "\(name) is not whole: \(troubles.joined(separator: "; ")); use another one.")
        }
    }

    static func code(of failure: LogFailure, _ copy: String) -> StartFailure.Code {
        switch failure.kind {
        case .inUse: .inUse
        case .damaged: .damaged
        case .notALog: failure.path == copy && access(copy, F_OK) == 0 ? .damaged : .configuration
        case .readOnly, .newerForm: .configuration
        case .full, .lost, .io: .log
        }
    }
}
