import BusSystem
import CSQLite
import Glibc

/// Why the log can't do what was requested, in one sentence that says what to do.
package struct LogFailure: Error, Sendable {
    package enum Kind: Sendable {
        /// Another daemon owns the file, or another program has been writing into it for too long.
        case inUse
        /// The file or its directory can't be written by this user.
        case readOnly
        /// The disk is full, or a quota is used up. `LogFile.probe` checks whether there is room again.
        case full
        /// What was read is not what was written.
        case damaged
        /// No SQLite file, one of another program, or none at all.
        case notALog
        /// Written by a later version.
        case newerForm
        /// What was requested is no longer there, or the file was removed, or what was written may be gone.
        case lost
        /// Any other failure of the system.
        case io
    }

    package let kind: Kind
    /// The log's path, as given.
    package let path: String
    /// One sentence, with the path, that says what to do.
    package let message: String
    /// Whether a sync has failed. The kernel takes all that it was to write for clean then, also what was written before.
    private(set) var isOfSync = false

    package init(_ kind: Kind, path: String, _ message: String) {
        self.kind = kind
        self.path = path
        self.message = message
    }

    /// Translates a result of SQLite, with the number of the system call that failed below it, or 0.
    init(code: Int32, systemError: Int32, path: String, detail: String) {
        let reason = systemError == 0 ? detail : "\(detail): \(systemReason(systemError))"
        let kind = Self.kind(code, systemError)
        let advice: String? =
            switch kind {
            case .inUse: "is being written by another program; end it, then try again"
            case .readOnly: "can't be written; give it and its directory to the user that the daemon runs as"
            case .full: "can't grow; make room on its disk"
            case .damaged: nil
            case .notALog: "is not an action log; name another file in log.path or move this one away"
            case .newerForm: "was written by a newer version; install that one"
            case .lost: "was moved or deleted; put it back and restart the daemon"
            case .io: "can't be read or written; look at its disk with dmesg"
            }
        self.init(
            kind, path: path,
            advice.map { "The log \(path) \($0) (\(reason))." } ?? Self.damage(to: path, reason))
        isOfSync = code == Self.failedSync
    }

    /// What to say of a damaged log. A start mends only what it needs; `--compact` mends everything.
    static func damage(to path: String, _ what: String) -> String {
        "The log \(path) is damaged: \(what); stop the daemon and run fluxbusd --compact, which keeps what is readable."
    }

    /// What such a message says, without its advice.
    static func finding(in message: String) -> String { String(message.prefix { $0 != ";" }) }

    /// `SQLITE_IOERR_FSYNC`, which Swift does not import.
    static let failedSync = SQLITE_IOERR | 4 << 8

    private static func kind(_ code: Int32, _ systemError: Int32) -> Kind {
        switch code & 0xff {
        case SQLITE_FULL: return .full
        case SQLITE_CORRUPT: return .damaged
        case SQLITE_NOTADB: return .notALog
        case SQLITE_BUSY, SQLITE_LOCKED: return .inUse
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM:
            switch systemError {
            case ENOSPC, EDQUOT: return .full
            case EACCES, EPERM, EROFS: return .readOnly
            default: return [SQLITE_READONLY, SQLITE_PERM].contains(code & 0xff) ? .readOnly : .io
            }
        default: return .io
        }
    }
}
