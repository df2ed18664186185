import BusSystem
import Glibc

/// A directory of its own for one test, with a short path: a socket's path holds 107 bytes.
///
/// It goes when it is let go, and with the process at the latest: a thread that waits for a client holds what it
/// serves until then. It stands in `$TMPDIR`, where `Tests/run` looks whether anything was left.
package typealias TemporaryDirectory = PrivateDirectory

extension PrivateDirectory {
    /// - Parameter variable: Which variable names another place for it; without it, or where it is not set, it stands in `$TMPDIR`.
    package convenience init(in variable: String? = nil) {
        let parent =
            variable.flatMap { getenv($0).map { String(cString: $0) } } ?? PrivateDirectory.shortParent
        do throws(SystemError) {
            try self.init(in: parent, prefix: "flux")
        } catch {
            preconditionFailure("There is no room in \(parent): \(error.reason).")
        }
    }
}
