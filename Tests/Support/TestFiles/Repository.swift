import Foundation

/// What tests need of the repository and of its build, wherever they lie.
package enum Repository {
    /// The folder with `Package.swift`.
    package static let root: URL = {
        var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while folder.path != "/" {
            let manifest = folder.appendingPathComponent("Package.swift").path
            if FileManager.default.fileExists(atPath: manifest) { return folder }
            folder.deleteLastPathComponent()
        }
        preconditionFailure("No Package.swift stands above \(#filePath): run tests where they were built.")
    }()

    /// The sample state types.
    package static let sampleTypes = root.appendingPathComponent("config/types").path

    /// The folder with the programs that were built: they stand beside the tests.
    package static let programs: URL = {
        var link = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &link, link.count)
        let path = String(decoding: link[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return URL(fileURLWithPath: path).deletingLastPathComponent()
    }()

    package static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}
