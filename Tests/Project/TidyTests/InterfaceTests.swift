import Foundation
import TestFiles
import Testing

/// What who builds on the package meets first: the toolchain that it needs, and the names that an import brings.
@Suite struct InterfaceTests {
    @Test func theManifestAndTheDocumentsNeedTheSameToolchain() throws {
        let manifest = try Repository.text("Package.swift")
        let version = try #require(manifest.firstMatch(of: /^\/\/ swift-tools-version: ([0-9.]+)\n/)).1
        for path in ["README.md", ".github/CONTRIBUTING.md"] {
            let text = try Repository.text(path)
            let named = text.matches(of: /[Tt]oolchain(?:\]\([^)]*\))?, ([0-9.]+) or later/).map(\.1)
            #expect(!named.isEmpty && named.allSatisfy { $0 == version }, "\(path): \(named)")
        }
    }

    /// An import of one of these brings what its users need, and nothing of how it is made: names of those modules may be
    /// a program's own.
    private static let exported: [String: Set<String>] = [
        "BusTypes": [
            "Flux", "enum BusJSON.JSON", "struct BusJSON.JSONCodingError", "struct BusJSON.JSONError",
            "struct BusJSON.JSONObject",
        ],
        "BusSystem": ["BusTime"], "FluxBus": ["BusTypes", "Flux"], "FluxBusTesting": ["FluxBus"],
        "FluxBusDaemon": ["BusTypes", "Flux"],
    ]

    @Test func anImportBringsWhatItsUsersNeed() throws {
        var found: [String: Set<String>] = [:]
        for (_, files) in TidyTests.sources {
            for file in try files.get() {
                for line in file.lines {
                    guard let name = line.wholeMatch(of: /\s*@_exported\s+(?:public\s+)?import (.+?)\s*/)?.1
                    else { continue }
                    found[file.target, default: []].insert(String(name))
                }
            }
        }
        #expect(found == Self.exported)
    }
}
