import Foundation
import TestFiles

/// All manual pages as `deploy/build-man` makes them, once for all tests.
package enum ManualPages {
    private static let directory = Result {
        let directory = TemporaryDirectory()
        let script = Repository.root.appendingPathComponent("deploy/build-man").path
        let outcome = try RunningProgram(
            [script, directory.path], environment: ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
        ).wait()
        guard outcome.status == 0, outcome.errors.isEmpty else { throw Failed(errors: outcome.errors) }
        return directory
    }

    /// The script failed, or it complained.
    private struct Failed: Error {
        let errors: String
    }

    package static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.get().path).sorted()
    }

    package static func path(of name: String) throws -> String { try "\(directory.get().path)/\(name)" }

    package static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(of: name), encoding: .utf8)
    }
}
