import FluxBus
import Foundation
import Glibc

/// What the process finds around it.
enum Surroundings {
    static func variables() -> [String: String] { ProcessInfo.processInfo.environment }

    /// Whether standard output goes to the journal: systemd says which stream it is.
    static var outputIsJournal: Bool {
        guard let said = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return false }
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && said == "\(status.st_dev):\(status.st_ino)"
    }
}
