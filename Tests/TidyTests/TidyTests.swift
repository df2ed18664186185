import Foundation
import Testing

/// A test over the repository itself: which way imports point, what may not be called where, and how long a file
/// may become. What it forbids is forbidden for a reason that stands beside it.
@Suite struct TidyTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct Source {
        let name: String
        let target: String
        let lines: [String]
    }

    private func sources(_ folder: String) throws -> [Source] {
        let base = Self.root.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(atPath: base.path)
        return try (files?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }.sorted().map {
            name in
            let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
            return Source(
                name: name, target: String(name.prefix { $0 != "/" }),
                lines: text.components(separatedBy: "\n"))
        }
    }

    /// What each target may import of ours. The engine and all it stands on know no clock, no socket and no file.
    private static let allowed: [String: Set<String>] = [
        "BusJSON": [], "BusState": ["BusJSON"], "BusProtocol": ["BusJSON"],
        "BusYAML": ["BusJSON", "BusProtocol", "CYAML"],
        "BusLogic": ["BusJSON", "BusProtocol", "BusState", "BusYAML"],
        "BusEngine": ["BusJSON", "BusLogic", "BusProtocol", "BusState"],
        "BusHistory": ["BusEngine", "BusJSON"],
        "BusServer": [
            "BusEngine", "BusHistory", "BusJSON", "BusLog", "BusLogic", "BusProtocol", "BusYAML", "CLinux",
            "Systemd",
        ],
        "Systemd": ["CSystemd"], "BusLog": ["CSQLite"],
        "Flux": [], "BusTypes": ["BusJSON", "BusProtocol", "Flux"],
        "FluxBus": ["BusJSON", "BusTypes", "CLinux", "Flux"],
        "FluxBusDaemon": [
            "BusJSON", "BusLogic", "BusProtocol", "BusServer", "BusState", "BusTypes", "Flux",
        ],
        "Examples": ["FluxBus", "FluxBusDaemon"],
        "FluxBusCommand": ["BusEngine", "BusJSON", "BusLogic", "BusProtocol", "BusYAML", "FluxBus"],
        "fluxbusd": ["FluxBusDaemon"], "fluxbus": ["FluxBusCommand"],
        "BusWork": ["BusEngine", "BusJSON", "BusLogic"],
        "fluxbus-bench": ["BusJSON", "BusWork", "CLinux", "CSQLite", "FluxBus"],
    ]

    private static func imported(_ line: String) -> String? {
        if line.contains("//") { return nil }
        let words = line.trimmingCharacters(in: .whitespaces).split(separator: " ")
        guard let place = words.firstIndex(of: "import"), place <= 1, place + 1 < words.count else {
            return nil
        }
        return String(words[place + 1])
    }

    @Test func importsPointOneWay() throws {
        let ours = Set(Self.allowed.keys).union(["CLinux", "CSQLite", "CSystemd", "CYAML"])
        let files = try sources("Sources")
        #expect(files.count > 100)
        for file in files {
            let allowed = try #require(Self.allowed[file.target], "\(file.target) stands in no order")
            for module in file.lines.compactMap(Self.imported) where ours.contains(module) {
                #expect(allowed.contains(module), "\(file.name) imports \(module)")
            }
        }
    }

    @Test func engineKnowsNoClockSocketOrFile() throws {
        let pure: Set<String> = ["BusJSON", "BusState", "BusProtocol", "BusEngine"]
        // Of the C library these use memory functions only.
        let forbidden = [
            "clock_gettime", "gettimeofday", "time(nil)", "Date(", ".random(", "socket(", "fopen(",
            "Glibc.open(", "getenv",
        ]
        for file in try sources("Sources") where pure.contains(file.target) {
            for module in file.lines.compactMap(Self.imported) {
                #expect(
                    !["Foundation", "Dispatch", "CLinux"].contains(module), "\(file.name) imports \(module)")
            }
            for (number, line) in file.lines.enumerated() where !line.contains("//") {
                for call in forbidden {
                    #expect(!line.contains(call), "\(file.name):\(number + 1) calls \(call)")
                }
            }
        }
    }

    @Test func nothingIsForcedSilentOrLeftOver() throws {
        // Assembled, so that this file does not hold what it looks for.
        let forbidden = [
            "try" + "!", "fatalError" + "()", "TO" + "DO", "FIX" + "ME", "usleep" + "(", "Task" + ".sleep",
            "Thread" + ".sleep",
        ]
        for file in try sources("Sources") + sources("Tests") {
            for (number, line) in file.lines.enumerated() {
                for word in forbidden {
                    // A file lock has no event to wait for, so its holder is given two seconds in small steps.
                    if file.name.hasSuffix("UnixListening.swift"), word.hasPrefix("usleep") { continue }
                    #expect(!line.contains(word), "\(file.name):\(number + 1) holds \(word)")
                }
            }
        }
    }

    /// `Tests/run` looks in `$TMPDIR` whether anything was left, so tests make files nowhere else.
    @Test func testsKeepTheirFilesInTemporaryDirectories() throws {
        let forbidden = ["/" + "tmp/", "temporary" + "Directory", "mk" + "dtemp", "mk" + "stemp"]
        for file in try sources("Tests") where !file.name.hasPrefix("TestFiles/") {
            for (number, line) in file.lines.enumerated() {
                for word in forbidden {
                    #expect(!line.contains(word), "\(file.name):\(number + 1) holds \(word)")
                }
            }
        }
    }

    @Test func librariesDoNotPrint() throws {
        let executables: Set<String> = ["fluxbusd", "fluxbus", "fluxbus-bench", "Examples"]
        for file in try sources("Sources") where !executables.contains(file.target) {
            for (number, line) in file.lines.enumerated() {
                let code = line.trimmingCharacters(in: .whitespaces)
                #expect(!code.hasPrefix("print("), "\(file.name):\(number + 1) prints")
            }
        }
    }

    @Test func filesStayRoomsToLiveIn() throws {
        for file in try sources("Sources") + sources("Tests") {
            #expect(file.lines.count <= 400, "\(file.name) has \(file.lines.count) lines")
        }
    }
}
