import Foundation
import Testing

/// The client library is for several systems: what belongs to one of them stands in a folder with its name, behind a condition,
/// and the rest gets by without it.
@Suite struct ClientSystemsTests {
    private static let conditions = ["Apple": "#if canImport(Darwin)", "Linux": "#if canImport(Glibc)"]
    private static let systems: Set<String> = [
        "Android", "BusMap", "BusSystem", "BusTLS", "CLinux", "CMap", "COpenSSL", "Darwin", "Glibc", "Musl",
    ]

    /// The files of the library by the system they belong to; those without a key are for all.
    private static func files() throws -> [String?: [TidyTests.Source]] {
        let sources = try #require(TidyTests.sources["Sources"]).get().filter { $0.target == "FluxBus" }
        return Dictionary(grouping: sources) { file in
            let folder = String(file.name.split(separator: "/")[2])
            return conditions[folder] == nil ? nil : folder
        }
    }

    @Test func onlyTheFolderOfASystemImportsIt() throws {
        let portable = try #require(try Self.files()[nil])
        #expect(portable.count > 40)
        for file in portable {
            for module in file.lines.compactMap(TidyTests.imported) {
                #expect(!Self.systems.contains(module), "\(file.name) imports \(module)")
            }
        }
    }

    @Test func filesOfASystemAreCompiledThereOnly() throws {
        let files = try Self.files()
        for (folder, condition) in Self.conditions {
            let sources = try #require(files[folder], "\(folder) is gone")
            for file in sources {
                #expect(file.lines.first == condition, "\(file.name) begins otherwise")
                #expect(file.lines.filter { $0.hasPrefix("#") } == [condition, "#endif"], "\(file.name)")
            }
        }
    }

    /// Of what the folder of a system declares, the others know `HostSystem`, which each of them has.
    @Test func theRestNamesNothingOfASystem() throws {
        let files = try Self.files()
        let portable = try #require(files[nil])
        for folder in Self.conditions.keys {
            let declared = (files[folder] ?? []).flatMap { file in
                file.lines.compactMap { line in
                    line.firstMatch(
                        of: /^    (?:(?:public|package|final) )*(?:class|struct|enum|protocol) (\w+)/
                    ).map { String($0.1) }
                }
            }
            #expect(declared.contains("HostSystem"), "\(folder) has no HostSystem")
            let names = declared.filter { $0 != "HostSystem" }
            #expect(!names.isEmpty)
            let naming = try Regex("\\b(\(names.joined(separator: "|")))\\b")
            for file in portable {
                for (number, line) in file.lines.enumerated() {
                    #expect(
                        !TidyTests.code(line).contains(naming),
                        "\(file.name):\(number + 1) names a type of \(folder)")
                }
            }
        }
    }
}
