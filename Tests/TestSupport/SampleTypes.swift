import BusDefinitions
import BusJSON
import BusLogic
import Foundation

/// The state types in `config/types`, which the documentation speaks of and most tests use.
package enum SampleTypes {
    /// Where they stand in the source tree.
    package static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "config/types").path

    /// The sample types, and further ones given as YAML.
    package static func load(and definitions: [String] = []) throws -> [any StateType] {
        try TypeCatalog(files(and: definitions)).types
    }

    /// The same as files.
    package static func files(and definitions: [String] = []) throws -> [TypeCatalog.File] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        let samples = try names.filter { $0.hasSuffix(".yaml") }.map { name in
            TypeCatalog.File(
                name: name, bytes: Array(try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))))
        }
        return samples
            + definitions.enumerated().map { index, text in
                TypeCatalog.File(name: "further-\(index + 1).yaml", bytes: Array(text.utf8))
            }
    }
}
