import Foundation
import TestFiles
import TestServer
import Testing

/// What `--check` finds right, a start does not refuse, and the other way round: each of these is told by both in the same
/// words, with file and line, and leaves nothing behind.
struct CheckTests {
    private let directory = TemporaryDirectory()
    private var file: String { "\(directory.path)/fluxbusd.yaml" }

    init() throws { try directory.writeCounter() }

    /// Root may write everywhere, unless that right was taken away.
    private static let withoutRights =
        geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set", "-dac_override"] : []

    private func write(_ text: String) throws { try directory.write("fluxbusd.yaml", text) }

    private func names(_ folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path + folder).sorted()
    }

    /// What both say, once they say the same.
    private func refusal(_ sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let before = try names()
        let check = try RunningProgram.run(
            "fluxbusd", ["--config", file, "--check"], through: Self.withoutRights)
        let start = try RunningProgram.run("fluxbusd", ["--config", file], through: Self.withoutRights)
        #expect(check.status == 78 && start.status == 78, sourceLocation: sourceLocation)
        #expect(check.errors == start.errors, sourceLocation: sourceLocation)
        #expect(check.output.isEmpty, sourceLocation: sourceLocation)
        #expect(try names() == before, sourceLocation: sourceLocation)
        return check.errors
    }

    @Test func placesThatCanNotBeUsedAreToldTogether() throws {
        let long = "\(directory.path)/\(String(repeating: "x", count: 100))"
        try write(
            """
            listen:
              - unix: \(long)
              - unix: nowhere/s
              - { unix: s, group: no-such-group }
              - unix: types/counter.yaml
            types: types
            log: { path: nowhere/bus.sqlite }
            """)
        let lines = try refusal().split(separator: "\n")
        #expect(lines.count == 5, "\(lines)")
        for (line, (place, words)) in zip(
            lines,
            [
                ("2:11", "the kernel allows 107; use a shorter one."),
                ("3:11", "No such file or directory; create it first."),
                ("4:13", "there is no group no-such-group; create it"),
                ("5:11", "this is a file, not a socket"),
                ("7:14", "make the directory for it"),
            ])
        {
            #expect(line.hasPrefix("\(file):\(place): ") && line.contains(words), "\(line)")
        }
    }

    @Test func aClosedLogDirectoryIsTold() throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/closed", withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o500])
        try write("listen: [{ unix: s }]\ntypes: types\nlog: { path: closed/bus.sqlite }\n")
        let errors = try refusal()
        #expect(errors.contains("\(file):3:14: "), "\(errors)")
        #expect(errors.contains("can't be written (Permission denied); give the directory to user"))
        #expect(try names("/closed") == [])
    }

    @Test func aFileThatIsNoLogIsTold() throws {
        for text in [String(repeating: "no log ", count: 2000), "short"] {
            try directory.write("bus.sqlite", text)
            try write("listen: [{ unix: s }]\nlog: { path: bus.sqlite }\n")
            let errors = try RunningProgram.run("fluxbusd", ["--config", file]).errors
            #expect(errors.contains("\(file):2:14: "), "\(errors)")
            #expect(try names() == ["bus.sqlite", "fluxbusd.yaml", "types"])
        }
        try directory.write("bus.sqlite", String(repeating: "no log ", count: 2000))
        #expect(try refusal().contains("is not an action log"))
        try FileManager.default.removeItem(atPath: "\(directory.path)/bus.sqlite")
        mkfifo("\(directory.path)/bus.sqlite", 0o600)
        #expect(try refusal().contains("is not a regular file"))
    }

    @Test func aStoreThatIsTooLargeFromTheBeginningIsTold() throws {
        let text = String(repeating: "x", count: 5000)
        try directory.write("types/large.yaml", "type: large\ninitial: { text: \(text) }\n")
        try write(
            "listen: [{ unix: s }]\ntypes: types\nstores: [counter/main, large/one]\nlimits: { state: 4KiB }\n"
        )
        let errors = try refusal()
        #expect(errors.hasPrefix("\(file):3:24: The store large/one: "), "\(errors)")
    }

    @Test func everyFileIsReadThoughOneIsWrong() throws {
        try directory.write("types/a.yaml", "type: a\ninitial: {}\nactions: { x: { sett: {} } }\n")
        try directory.write("types/b.yaml", "type: b\ninital: {}\n")
        mkfifo("\(directory.path)/types/c.yaml", 0o600)
        try directory.write("tokens", "kitchen\n")
        try write(
            "listen: [{ unix: s }, { tcp: \"127.0.0.1:0\" }]\ntokens: tokens\ntypes: types\nlimit: {}\n")
        let errors = try refusal()
        for place in ["fluxbusd.yaml:4:1: ", "tokens:1:", "a.yaml:3:17: ", "b.yaml:2:1: ", "c.yaml: "] {
            #expect(errors.contains("\(directory.path)/") && errors.contains(place), "\(place) in \(errors)")
        }
    }

    @Test func allMistakesOfAFileAreNamedAndMoreThanFiftyAreCounted() throws {
        try directory.write(
            "types/a.yaml", "type: a\ninitial: { on: false }\nactions: { x: { when: true, toggle: [onn] } }\n"
        )
        try write("listen: [{ unix: s }]\ntypes: types\n")
        let two = try refusal().split(separator: "\n")
        #expect(
            two.count == 2 && two[0].contains("a.yaml:3:23: ") && two[1].contains("did you mean `on`?"),
            "\(two)")
        let actions = (0..<70).map { "  x\($0): { set: { y: 1 } }\n" }.joined()
        try directory.write("types/b.yaml", "type: b\ninitial: {}\nactions:\n\(actions)")
        let all = try refusal().split(separator: "\n")
        #expect(all.count == 51 && all[50] == "and 22 more.", "\(all)")
    }
}
