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

    /// Folders have the names of their targets, and stand on floors. The examples are small, and a target each.
    private static func target(of name: String) -> String {
        let folders = name.split(separator: "/").map(String.init)
        if folders[0] == "Examples" { return examples[folders[1]] ?? "" }
        return folders.count == 2 ? folders[0] : folders[1]
    }

    private static let examples = [
        "Counter": "example-counter", "CustomDaemon": "example-daemon", "Presence": "example-presence",
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

    /// SwiftPM lets a file import whatever was built before. Tests declare the programs that they run, too.
    @Test(arguments: ["Sources", "Tests"]) func targetsImportWhatTheyDeclare(in folder: String) throws {
        let manifest = try Manifest()
        let dependencies = manifest.dependencies
        let isTests = folder == "Tests"
        // Programs there are compiled by tests.
        let files = try sources(folder).filter { !$0.name.contains("/TypeCodeTests/Programs/") }
        #expect(files.count > 100)
        for (target, files) in Dictionary(grouping: files, by: \.target) {
            // Some of what tests need stands elsewhere than a target of its name.
            if isTests, dependencies[target] == nil { continue }
            let declared = try #require(dependencies[target], "\(target) is not in Package.swift")
                .subtracting(isTests ? manifest.programs : [])
            var imported: Set<String> = []
            for file in files {
                for module in file.lines.compactMap(Self.imported) where dependencies[module] != nil {
                    #expect(declared.contains(module), "\(file.name) imports \(module)")
                    imported.insert(module)
                }
            }
            #expect(imported == declared, "\(target) does without \(declared.subtracting(imported))")
        }
    }

    /// The library whose hashes chain the members of a bus: one file uses it, for nothing else.
    private static let hashes = "COpenSSL"
    /// A header of ours that looks at bytes in memory, and does nothing else.
    private static let scan = "CScan"

    /// The engine is only as pure as the last target that it stands on; and so are the rules of a bus over several machines.
    @Test func engineKnowsNoClockSocketOrFile() throws {
        let pure = try Manifest().closure(of: "BusEngine").subtracting([Self.hashes, Self.scan])
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
            // Foundation now and then crashes when it starts a program: it reads past the end of a directory's entry.
            " Pro" + "cess()", " Pro" + "cess.run(",
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
            // What is tested is the starting itself, or that others start programs.
            "Spawning" + ".start(": ["SpawningTests"], "posix_" + "spawn(": ["ReconnectionTests"],
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
        let executables = Set(Self.examples.values).union(["fluxbusd", "fluxbus"])
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
            "StateMachine+Planning", "StateMachine+Views", "StoreTable", "TypeEntry", "ViewIndex",
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
        let pure = try Manifest().closure(of: "BusEngine")
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
