import BusDefinitions
import BusJSON
import BusLogic
import Foundation
import TestFiles

/// The state types in `config/types`, which the documentation speaks of and most tests use. The view among them is left out:
/// a bus without views commits in a shorter way, and a test may replace the type that the view reads.
package enum SampleTypes {
    /// Where they stand in the source tree.
    package static let directory = Repository.sampleTypes

    /// The sample types, and further ones given as YAML, which take the place of samples with their names.
    package static func load(and definitions: [String] = []) throws -> [any StateType] {
        try TypeCatalog(files(and: definitions)).types
    }

    /// The same as files.
    package static func files(and definitions: [String] = []) throws -> [TypeCatalog.File] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        let replaced = definitions.compactMap { $0.firstMatch(of: /(?m)^(?:type|view): *([A-Za-z0-9_-]+)/) }
            .map {
                "\($0.1).yaml"
            }
        let samples = try names.filter { $0.hasSuffix(".yaml") && !replaced.contains($0) }.map { name in
            TypeCatalog.File(
                name: name, bytes: Array(try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))))
        }.filter { !String(decoding: $0.bytes, as: UTF8.self).contains("\nview:") }
        return samples
            + definitions.enumerated().map { index, text in
                TypeCatalog.File(name: "further-\(index + 1).yaml", bytes: Array(text.utf8))
            }
    }

    /// The same without files, compiled once, for tests that make very many engines; the type of `SampleRequests` is with them.
    package static let compiled: [any StateType] = {
        do { return try load() + [DeclaredType(definition: note)] } catch {
            fatalError("The sample types are wrong: \(error)")
        }
    }()

    /// The type that `SampleRequests` speak of.
    package static let note: JSON = [
        "type": "note",
        "initial": ["count": 0, "value": .null],
        "computed": ["double": ["*": [["var": "count"], 2]]],
        "actions": [
            "add": [
                "payload": ["by": ["type": "integer", "default": 1]],
                "increment": ["count": ["var": "payload.by"]],
            ],
            "put": ["payload": ["value": "any"], "set": ["value": ["var": "payload.value"]]],
        ],
    ]
}
