import Foundation
import Synchronization

/// A directory for one bus, which no other user can enter. It goes when it is let go, and with the process at the latest.
///
/// Its path is short: a socket's path holds 107 bytes. So it stands in `$TMPDIR` only if that is short, else in `/tmp`.
final class PrivateDirectory: Sendable {
    let path: String

    private static let longestParent = 60

    /// The paths of those that are there; the first one sees to it that none outlives the process.
    private static let present: Mutex<Set<String>> = {
        atexit {
            for path in PrivateDirectory.present.withLock({ $0 }) { PrivateDirectory.remove(path) }
        }
        return Mutex([])
    }()

    init() throws(TestBusError) {
        let wanted = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        let isUsable = wanted.hasPrefix("/") && wanted.utf8.count <= Self.longestParent
        var template = Array("\(isUsable ? wanted : "/tmp")/fluxbus-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TestBusError(
                "There is no room for a directory in \(isUsable ? wanted : "/tmp"): \(String(cString: strerror(errno)))."
            )
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        Self.present.withLock { _ = $0.insert(path) }
    }

    deinit {
        Self.remove(path)
        Self.present.withLock { _ = $0.remove(path) }
    }

    private static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file that only this user can read.
    func write(_ name: String, _ text: String) throws {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        chmod(file.path, 0o600)
    }
}
