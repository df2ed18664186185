import BusSource
import BusSystem
import Glibc

/// Reads small files that people write, as a whole. Errors are reported at the place that named the file.
enum FileBytes {
    /// The largest file that is read: what people write by hand is far smaller.
    static let limit = 4 << 20

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || errno != ENOENT }

    /// Why a file may not hold a secret: others than root and the daemon could read it, or have written it.
    static func refusalOfSecret(_ status: stat) -> String? {
        if status.st_mode & 0o077 != 0 {
            return "may be read by others than its owner; run chmod 600 on it."
        }
        if status.st_uid != 0, status.st_uid != geteuid() {
            return "belongs to another user; it must belong to root or to the daemon's user."
        }
        return nil
    }

    /// Reads a file; `what` names it in messages. `accept` may refuse it by its status.
    static func read(
        _ path: Located<String>, what: String, accept: (stat) -> String? = { _ in nil }
    ) throws(SourceError) -> [UInt8] {
        do throws(WholeFile.Refusal) {
            return try WholeFile.read(path.value, limit: limit, accept: accept)
        } catch {
            let name = path.place.file == path.value ? what : "\(what) \(path.value)"
            let message =
                switch error {
                case .failed(let error): "can't be read: \(error.reason)."
                case .notRegular: "is not a file."
                case .tooLarge: "is larger than \(limit >> 20) MiB."
                case .refused(let reason): reason
                }
            throw SourceError("\(name) \(message)", at: path.place)
        }
    }
}
