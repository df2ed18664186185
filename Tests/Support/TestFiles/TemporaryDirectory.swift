import BusSystem

/// A directory of its own for one test, with a short path: a socket's path holds 107 bytes.
///
/// It goes when it is let go, and with the process at the latest: a thread that waits for a client holds what it
/// serves until then. It stands in `$TMPDIR`, where `Tests/run` looks whether anything was left.
package typealias TemporaryDirectory = PrivateDirectory

extension PrivateDirectory {
    package convenience init() {
        let parent = PrivateDirectory.shortParent
        do throws(SystemError) {
            try self.init(in: parent, prefix: "flux")
        } catch {
            preconditionFailure("There is no room in \(parent): \(error.reason).")
        }
    }
}
