import BusJSON
import Foundation
import TestFiles
import TestServer
import TypeCode

/// A directory with a space in its path, in which printed code is compiled and run, and a bus with the same types.
struct Workshop {
    let bus: LiveBus
    private let directory = TemporaryDirectory()

    var path: String { "\(directory.path)/printed code" }

    /// The types that the bus has: the name of a type, and of the files that are printed for it.
    static let types: [(name: String, file: String)] = {
        let samples = (try? FileManager.default.contentsOfDirectory(atPath: Repository.sampleTypes)) ?? []
        return samples.map { String($0.prefix { $0 != "." }) }.sorted().map { ($0, $0) }
            + [(Definitions.awkwardName, "awkward"), ("everything", "everything")]
    }()

    /// Those whose stores are made here: a view makes its own.
    static let storedTypes = types.filter { $0.name != "holders" }

    /// The files that are printed, without their ending.
    static let files = types.map(\.file).sorted()

    init() throws {
        var setup = LiveBus.Setup()
        for (type, file) in Self.types {
            setup.types[file] =
                switch file {
                case "awkward": Definitions.awkward
                case "everything": Definitions.everything
                default: try Repository.text("config/types/\(type).yaml")
                }
        }
        setup.stores = Self.storedTypes.flatMap { ["\($0.name)/main", "\($0.name)/raw"] }
        bus = try LiveBus(setup)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Prints what the bus has, by the command line.
    func printTypes(option: String, name: (String) -> String) throws {
        for (type, file) in Self.types {
            let outcome = try RunningProgram.run(
                "fluxbus", ["types", type, option], environment: ["FLUXBUS_ADDRESS": bus.address])
            guard outcome.status == 0 else { throw Sockets.Failure(outcome.errors) }
            try write(name(file), outcome.output)
        }
    }

    func write(_ name: String, _ text: String) throws { try directory.write("printed code/\(name)", text) }

    /// Takes over a program that uses what is printed.
    func copy(_ name: String, to other: String? = nil) throws {
        try write(other ?? name, Repository.text("Tests/Tools/TypeCodeTests/Programs/\(name)"))
    }

    /// Puts a client library where the programs of its language look for it.
    func install(_ library: String, as name: String) throws {
        let place = URL(fileURLWithPath: path).appendingPathComponent(name)
        let manager = FileManager.default
        try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        let source = Repository.root.appendingPathComponent(library)
        try manager.createSymbolicLink(at: place, withDestinationURL: source)
    }

    /// What the programs are told: where the bus is.
    var arguments: [String] { [bus.path("s")] }

    /// Runs a tool in the directory.
    func run(_ words: [String], input: [String]? = nil) throws -> RunningProgram.Outcome {
        let program = try RunningProgram(
            words,
            environment: [
                "PATH": Tools.path, "HOME": path, "TMPDIR": directory.path, "LANG": "C.UTF-8",
                "FLUXBUS_ADDRESS": bus.address,
            ], directory: path, hasInput: input != nil)
        for line in input ?? [] { try program.send(line) }
        if input != nil { try program.endInput() }
        return try program.wait(atMost: 240)
    }
}

/// The compilers and checkers that printed code is for.
enum Tools {
    static let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"

    static let hasTypeScript = has("/usr/bin/tsc") && has("/usr/bin/node")
    static let hasPython = has("/usr/bin/mypy") && has("/usr/bin/python3")
    static let hasC = has("/usr/bin/cc") && has("/usr/bin/make")
    static let hasCPlusPlus = has("/usr/bin/g++")
    static let hasSwift = path.split(separator: ":").contains { has("\($0)/swiftc") }

    /// Debian's Python looks for Debian's packages only.
    static let hasValidator = has("/usr/lib/python3/dist-packages/jsonschema/__init__.py")

    private static func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}
