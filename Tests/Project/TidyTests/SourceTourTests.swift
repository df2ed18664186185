import Foundation
import TestFiles
import Testing

/// The source tour names every folder of the sources, and only files that are there.
@Suite struct SourceTourTests {
    /// A row of the tour: folders, and files in them to begin with.
    private struct Row {
        let folders: [String]
        let files: [String]
    }

    private static func rows() throws -> [Row] {
        try MarkdownPage(".github/SOURCES.md").rows.map { cells in
            func names(_ cell: String) -> [String] { cell.matches(of: /`([^`]+)`/).map { String($0.1) } }
            return Row(folders: names(cells[0]), files: cells.count > 2 ? names(cells[2]) : [])
        }
    }

    private static func folders(in path: String) throws -> [String] {
        let base = Repository.root.appendingPathComponent(path)
        return try FileManager.default.contentsOfDirectory(atPath: base.path).filter { name in
            var isFolder: ObjCBool = false
            let exists = FileManager.default.fileExists(
                atPath: base.appendingPathComponent(name).path, isDirectory: &isFolder)
            return exists && isFolder.boolValue
        }
    }

    @Test func everyTargetHasItsRow() throws {
        let named = try Set(Self.rows().flatMap(\.folders))
        #expect(named.count > 30)
        for floor in try Self.folders(in: "Sources") {
            // C libraries and examples share a row each.
            if ["Examples", "System"].contains(floor) {
                #expect(named.contains(floor))
                continue
            }
            for target in try Self.folders(in: "Sources/\(floor)") {
                #expect(named.contains("\(floor)/\(target)"), "\(floor)/\(target) has no row")
            }
        }
        for folder in named {
            let path = Repository.root.appendingPathComponent("Sources/\(folder)").path
            #expect(FileManager.default.fileExists(atPath: path), "\(folder) is gone")
        }
    }

    @Test func whatToBeginWithIsThere() throws {
        for row in try Self.rows() {
            #expect(row.folders.contains { ["Examples", "System"].contains($0) } || !row.files.isEmpty)
            for file in row.files {
                let isThere = row.folders.contains { folder in
                    let path = Repository.root.appendingPathComponent("Sources/\(folder)/\(file)").path
                    return FileManager.default.fileExists(atPath: path)
                }
                #expect(isThere, "\(row.folders): \(file)")
            }
        }
    }
}
