import Foundation
import Synchronization

/// A directory of its own for one test, with a short path: a socket's path holds 107 bytes.
///
/// It goes when it is let go, and with the process at the latest: a thread that waits for a client holds what it
/// serves until then. It stands in `$TMPDIR`, where `Tests/run` looks whether anything was left.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// A longer `$TMPDIR` leaves no room for the names of sockets. Nor can one with a space stand in commands and variables
    /// that are lists of words.
    private static let longestParent = 60
    private static let parent: String = {
        guard let wanted = ProcessInfo.processInfo.environment["TMPDIR"], wanted.hasPrefix("/"),
            wanted.utf8.count <= longestParent, !wanted.contains(where: \.isWhitespace)
        else { return "/tmp" }
        return wanted.hasSuffix("/") ? String(wanted.dropLast()) : wanted
    }()

    /// The paths of those that are there; the first one sees to it that none outlives the process.
    private static let present: Mutex<Set<String>> = {
        atexit {
            for path in TemporaryDirectory.present.withLock({ $0 }) { TemporaryDirectory.remove(path) }
        }
        return Mutex([])
    }()

    package init() {
        var template = Array("\(Self.parent)/flux-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("There is no room in \(Self.parent).") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        Self.present.withLock { _ = $0.insert(path) }
    }

    deinit {
        Self.remove(path)
        Self.present.withLock { _ = $0.remove(path) }
    }

    /// A server that is ending may still write into it, so it gets a second and a third try.
    private static func remove(_ path: String) {
        for _ in 0..<3 where access(path, F_OK) == 0 { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        chmod(file, mode)
        return file
    }
}
