import Foundation
import TestFiles
import Testing

/// A test over the repository itself: which way imports point, what may not be called where, and how long a file
/// may become. What it forbids is forbidden for a reason that stands beside it.
@Suite struct TidyTests {
    struct Source {
        let name: String
        let target: String
        let lines: [String]
    }

    /// Read once for all tests.
    static let sources = Dictionary(
        uniqueKeysWithValues: ["Sources", "Tests"].map { folder in (folder, Result { try read(folder) }) })

    private func sources(_ folder: String) throws -> [Source] {
        try #require(Self.sources[folder]).get()
    }

    private static func read(_ folder: String) throws -> [Source] {
        let base = Repository.root.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(atPath: base.path)
        return try (files?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }.sorted().map {
            name in
            let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
            return Source(
                name: name, target: target(of: name),
                lines: text.components(separatedBy: "\n"))
        }
    }

    /// Targets stand in folders by floor; the examples are small, and one.
    private static func target(of name: String) -> String {
        let folders = name.split(separator: "/").map(String.init)
        return folders[0] == "Examples" || folders.count == 2 ? folders[0] : folders[1]
    }

    /// What each target may import of ours. The engine and all it stands on know no clock, no socket and no file.
    private static let allowed: [String: Set<String>] = [
        "BusJSON": ["CScan"], "BusState": ["BusJSON"], "BusProtocol": ["BusJSON", "CScan"],
        "BusSource": ["BusJSON", "BusProtocol"],
        "BusCEL": [],
        "BusLogic": ["BusCEL", "BusJSON", "BusProtocol", "BusSource", "BusState"],
        "BusMachine": ["BusJSON", "BusLogic", "BusProtocol", "BusState", "CScan"],
        "BusCommands": ["BusJSON", "BusLogic", "BusMachine", "BusProtocol"],
        "BusCluster": [
            "BusCommands", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "BusState", "COpenSSL",
        ],
        "BusEngine": [
            "BusCluster", "BusCommands", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "BusState",
        ],
        "BusHistory": ["BusJSON", "BusLogic", "BusMachine", "BusProtocol"],
        "BusYAML": ["BusJSON", "BusSource", "BusSystem", "CYAML"],
        "BusDefinitions": ["BusJSON", "BusLogic", "BusSource", "BusYAML"],
        "TypeTesting": [
            "BusDefinitions", "BusEngine", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "BusSource",
            "BusYAML",
        ],
        "BusServer": [
            "BusCluster", "BusDefinitions", "BusEngine", "BusHistory", "BusJSON", "BusLog", "BusLogic",
            "BusMachine", "BusMap", "BusProtocol", "BusSource", "BusSystem", "BusTLS", "BusYAML", "CLinux",
            "CMap", "EtcdLog", "FluxBus",
            "Systemd", "TypeTesting",
        ],
        "BusTime": [], "BusSystem": ["BusTime", "CLinux"], "BusMap": ["BusSystem", "CLinux", "CMap"],
        "Systemd": ["BusSystem", "CLinux", "CSystemd"],
        "BusLog": ["BusSystem", "CLinux", "CSQLite"], "BusTLS": ["COpenSSL"],
        "BusHTTP": ["BusSystem", "CCurl"],
        "EtcdLog": ["BusCluster", "BusHTTP", "BusJSON", "BusSystem", "CCurl", "CLinux"],
        "Flux": [], "FluxTesting": ["Flux"], "BusTypes": ["BusJSON", "BusProtocol", "Flux"],
        "FluxBus": [
            "BusJSON", "BusMap", "BusSystem", "BusTLS", "BusTime", "BusTypes", "CLinux", "CMap", "Flux",
        ],
        "FluxBusDaemon": [
            "BusJSON", "BusLogic", "BusProtocol", "BusServer", "BusState", "BusSystem", "BusTypes", "Flux",
        ],
        "FluxBusTesting": ["BusServer", "BusSystem", "FluxBus", "FluxBusDaemon"],
        "Examples": ["FluxBus", "FluxBusDaemon"],
        "TypeCode": ["BusJSON"],
        "BusMetrics": ["BusJSON"],
        "FluxBusCommand": [
            "BusDefinitions", "BusEffects", "BusHooks", "BusJSON", "BusLog", "BusLogic", "BusMachine",
            "BusMetrics", "BusProtocol", "BusSource",
            "BusState",
            "BusSystem", "FluxBus",
            "TypeCode", "TypeTesting",
        ],
        "fluxbusd": ["FluxBusDaemon"], "fluxbus": ["FluxBusCommand"],
        "FluxBusWeb": [
            "BusEffects", "BusHooks", "BusJSON", "BusMetrics", "BusProtocol", "BusSource", "BusSystem",
            "BusTLS", "CInspector", "CLinux", "COpenSSL", "CZlib", "FluxBus", "Systemd", "TypeCode",
        ],
        "fluxbus-web": ["FluxBusWeb"],
        "BusHooks": ["BusEffects", "BusJSON", "BusLogic", "BusProtocol", "BusSource", "BusYAML"],
        "BusEffects": ["BusJSON", "BusLogic", "BusProtocol", "BusSource", "BusYAML"],
        "FluxBusEffects": [
            "BusEffects", "BusHTTP", "BusJSON", "BusProtocol", "BusSource", "BusSystem", "BusYAML", "CCurl",
            "CSystemd", "FluxBus", "Systemd",
        ],
        "fluxbus-effects": ["FluxBusEffects"],
    ]

    /// A line without its comment.
    static func code(_ line: String) -> Substring {
        line[..<(line.range(of: "//")?.lowerBound ?? line.endIndex)]
    }

    static func imported(_ line: String) -> String? {
        let words = code(line).split(separator: " ")
        guard let place = words.firstIndex(of: "import"), place <= 1, place + 1 < words.count else {
            return nil
        }
        return String(words[place + 1])
    }

    @Test func importsPointOneWay() throws {
        let ours = Set(Self.allowed.keys).union([
            "CCurl", "CInspector", "CLinux", "CMap", "COpenSSL", "CSQLite", "CScan", "CSystemd", "CYAML",
            "CZlib",
        ])
        let files = try sources("Sources")
        #expect(files.count > 100)
        for file in files {
            let allowed = try #require(Self.allowed[file.target], "\(file.target) stands in no order")
            for module in file.lines.compactMap(Self.imported) where ours.contains(module) {
                #expect(allowed.contains(module), "\(file.name) imports \(module)")
            }
        }
    }

    /// The library whose hashes chain the members of a bus: one file uses it, for nothing else.
    private static let hashes = "COpenSSL"
    /// A header of ours that looks at bytes in memory, and does nothing else.
    private static let scan = "CScan"

    /// A target and everything that it may import, and that these may import, and so on.
    private static func closure(of target: String) throws -> Set<String> {
        var reached: Set<String> = []
        var waiting = [target]
        while let next = waiting.popLast() {
            // A library of C stands on none of ours.
            guard next != hashes, next != scan, reached.insert(next).inserted else { continue }
            waiting += try #require(allowed[next], "\(next) stands in no order")
        }
        return reached
    }

    /// The engine is only as pure as the last target that it stands on; and so are the rules of a bus over several machines.
    @Test func engineKnowsNoClockSocketOrFile() throws {
        let pure = try Self.closure(of: "BusEngine").union(Self.closure(of: "BusCluster"))
        // Of the C library these use memory functions only.
        let importable = pure.union(["Darwin", "Glibc", Self.scan])
        let forbidden = [
            "clock_gettime", "gettimeofday", "time(nil)", "Date(", "ContinuousClock", "SuspendingClock",
            ".random(", "socket(", "fopen(", "Glibc.open(", "O_RDONLY", "O_RDWR", "O_WRONLY", "opendir(",
            "getenv",
        ]
        let files = try sources("Sources").filter { pure.contains($0.target) }
        #expect(Set(files.map(\.target)) == pure)
        for file in files {
            for module in file.lines.compactMap(Self.imported) {
                let isHash = module == Self.hashes && file.name.hasSuffix("/SHA256.swift")
                #expect(importable.contains(module) || isHash, "\(file.name) imports \(module)")
            }
            for (number, line) in file.lines.enumerated() {
                let code = Self.code(line)
                for call in forbidden {
                    #expect(!code.contains(call), "\(file.name):\(number + 1) calls \(call)")
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
        for file in try sources("Tests")
        where !file.name.hasPrefix("Support/TestFiles/") && !file.name.hasPrefix("Bench/") {
            for (number, line) in file.lines.enumerated() {
                for word in forbidden {
                    #expect(!line.contains(word), "\(file.name):\(number + 1) holds \(word)")
                }
            }
        }
    }

    /// One kit, `Tests/Support`: what waits in it gives up in the end, and what it opens it closes. Beside each word stands
    /// who means something else by it.
    @Test func testsShareOneKit() throws {
        let words: [String: Set<String>] = [
            "linux_stream" + "_socket(": [],
            // Datagrams to a manager, listeners that a probe inherits, and what an address is for.
            " soc" + "ket(": ["StandInManager", "PassedProbe", "BusSystemTests"],
            // What refuses its configuration.
            "Bus" + "Server(": ["ListeningTests"],
            // A whole system that outlives its script, and descriptors that are passed on.
            " Pro" + "cess()": ["Harness", "HarnessTests", "PackageTests", "PassedProbe"],
        ]
        for file in try sources("Tests")
        where !file.name.hasPrefix("Support/") && !file.name.hasPrefix("Bench/") {
            let name = file.name.split(separator: "/").last.map { String($0.dropLast(6)) } ?? ""
            for (number, line) in file.lines.enumerated() {
                for (word, others) in words where !others.contains(name) {
                    #expect(!Self.code(line).contains(word), "\(file.name):\(number + 1) holds \(word)")
                }
            }
        }
    }

    @Test func librariesDoNotPrint() throws {
        let executables: Set<String> = ["fluxbusd", "fluxbus", "Examples"]
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

    /// A part of the engine owns what it holds: others ask it, and never write to it. The few exceptions are what a part is
    /// told.
    @Test func nobodyWritesToWhatAPartHolds() throws {
        let folders = [
            "hub": "Subscriptions", "connections": "Connections", "scheduler": "Scheduling", "log": "Log",
            "queries": "Log", "machine": "", "admission": "Admission", "memory": "Admission",
            "reads": "Requests", "replies": "Requests", "sessions": "Connections", "shared": "Cluster",
            "commits": "Commits", "long": "Scheduling", "maps": "Maps", "timers": "Timers",
            "statistics": "Statistics",
        ]
        let told = ["machine.limits", "machine.epoch", "machine.knownTypes", "memory.measured"]
        let writing = try Regex(#"\b(\w+)\.(\w+)(\.\w+)*\s*(&?[-+*])?=(?!=)"#)
        var seen = 0
        for file in try sources("Sources") where file.target == "BusEngine" {
            let folder = file.name.split(separator: "/").dropFirst(2).dropLast().first.map(String.init) ?? ""
            for (number, line) in file.lines.enumerated() {
                for match in String(Self.code(line)).matches(of: writing) {
                    guard let part = match[1].substring, let name = match[2].substring,
                        let home = folders[String(part)]
                    else { continue }
                    seen += 1
                    let isAllowed =
                        told.contains("\(part).\(name)") || home == folder && !file.name.contains("Engine+")
                    #expect(isAllowed, "\(file.name):\(number + 1) writes to \(part).\(name)")
                }
            }
        }
        #expect(seen > 0)
    }

    /// Files that hold references without counting them, or memory by pointer: each is on the way of every dispatch, and the
    /// measurement that pays for it stands in the Performance page. A file that is added here says in a comment what proves
    /// the lifetimes; the address sanitizer runs all of them (`Tests/sanitize`).
    private static let unsafeFiles: [String: Set<String>] = [
        "BusEngine": [
            "BookmarkQueue", "ClientAccess", "Connection", "Connections", "Engine+Connections",
            "Engine+Dispatch", "Engine+Read", "LongRequests", "MulticastGroup", "Outbox", "Output",
            "Permits", "Publication", "StoreGroups", "SubscriberGroup", "Subscription",
            "SubscriptionHub+Bookmarks", "SubscriptionHub+CatchUp",
            "SubscriptionHub+Deliver", "SubscriptionHub+Encoding", "SubscriptionHub+Multicast",
            "SubscriptionHub+Publish",
        ],
        "BusJSON": [
            "ByteWriter", "ElementList", "JSONReader", "JSONReader+Numbers", "MemberList", "PlainScanner",
            "SmallText",
        ],
        "BusLogic": [
            "CommitContext", "ComputedValues", "DeclaredType", "DeclaredType+Commit", "Evaluation",
            "ExpressionNode", "Migrations", "Operands", "PrecomputedWrites", "ReadNodes", "Scalar",
            "ViewRules", "WriteStep",
        ],
        "BusMachine": [
            "DeduplicationTable", "DispatchPlan", "MemberIndex", "SlotIndex", "SourceReader", "StateMachine",
            "StateMachine+Apply", "StateMachine+Commit", "StateMachine+Names", "StateMachine+Place",
            "StateMachine+Planning", "StateMachine+Views", "StoreFilter", "StoreTable", "TypeEntry",
            "ViewIndex",
            "ViewTable",
        ],
        "BusProtocol": [
            "RequestBatch", "RequestReader", "RequestReader+Template", "RequestTemplate", "SenderMemory",
            "WordTable",
        ],
        "BusState": [
            "DeltaEntry", "Draft", "Draft+Writing", "JSON+Places", "MemberChanges", "PrecomputedWrite",
            "Stack", "StatePath", "UndoLog",
        ],
    ]

    @Test func unsafeCodeStandsWhereItIsListed() throws {
        let words = [
            "_with" + "UnsafeGuaranteedRef", "unowned" + "(unsafe)", "UnsafeMutable" + "Pointer<",
            "Unsafe" + "Pointer<",
            "unsafe" + "Address", "Unmanaged" + "<",
        ]
        let pure = try Self.closure(of: "BusEngine")
        var found: [String: Set<String>] = [:]
        for file in try sources("Sources") where pure.contains(file.target) {
            let name = file.name.split(separator: "/").last.map { String($0.dropLast(6)) } ?? ""
            if file.lines.contains(where: { line in words.contains { Self.code(line).contains($0) } }) {
                found[file.target, default: []].insert(name)
            }
        }
        #expect(found == Self.unsafeFiles)
    }
}
