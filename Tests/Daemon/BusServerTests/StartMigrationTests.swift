import BusJSON
import TestServer
import Testing

/// A start with a log and other definitions than those in it: `--check` says what it will do.
@Suite(.timeLimit(.minutes(10))) struct StartMigrationTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private static let first = "type: light\ninitial: { level: 0 }\n"
    private static let second = """
        type: light
        version: 2
        initial: { brightness: 0 }
        migrate:
          1: { set: { brightness: { "+": [{ var: state.level }, 1] } }, unset: [level] }

        """

    private func define(_ text: String) throws { try bus.directory.write("types/light.yaml", text) }

    /// One life of the daemon; what a client asks in it is answered so.
    private func life(_ lines: String...) throws -> [JSON] {
        let daemon = try bus.start()
        let client = try bus.client()
        let answers = try lines.map { try JSON(parsing: try client.ask($0)) }
        #expect(try bus.stop(daemon) == 0)
        return answers
    }

    /// What `--check` and a start say, which is the same.
    private func refusal() throws -> String {
        let (check, start) = (try bus.run(["--check"]), try bus.run())
        #expect(check.status == 78)
        #expect(start.status == 78)
        // The start also says that it has read the log.
        #expect(start.errors.hasSuffix(check.errors))
        return check.errors
    }

    @Test func aStartMigratesOrRefusesAsTheCheckSays() throws {
        try define(Self.first)
        _ = try life(
            #"{"op":"create","store":"light/a","state":{"level":4}}"#,
            #"{"op":"create","store":"light/passing","ephemeral":true,"state":{"level":"no number"}}"#)
        try define(Self.second)
        #expect(try bus.run(["--check"]).status == 0)
        let states = try life(#"{"op":"get","type":"light"}"#)[0]["states"]
        #expect(states == ["light/a": ["brightness": 5]])
        // Back to the version before: nothing changes.
        try define(Self.first)
        let file = "\(bus.directory.path)/types/light.yaml"
        let refused = try refusal()
        #expect(
            refused.contains("\(file):1:7: light has version 2 on the bus, and this definition is version 1"))
        try define("type: light\nversion: 2\ninitial: { glow: 0 }\nmigrate: { 1: {} }\n")
        #expect(try refusal().contains("light/a: light has no member brightness"))
        try define(Self.second)
        #expect(try life(#"{"op":"get","type":"light"}"#)[0]["states"] == states)
        #expect(try bus.verify().status == 0)
    }

    /// One that waits for its client stays over a start.
    @Test func aStoreThatWaitsForItsClientHasToFit() throws {
        try define(Self.first)
        _ = try life(
            #"{"op":"hello","session":"s","linger":"1h"}"#,
            #"{"op":"create","store":"light/passing","ephemeral":true,"state":{"level":"no number"}}"#)
        try define(Self.second)
        #expect(try refusal().contains("light/passing: the step from version 1 to 2 fails"))
        try define("type: lamp\ninitial: {}\n")
        #expect(try refusal().contains("light is gone but has 1 store"))
        try define(Self.first)
        let states = try life(#"{"op":"get","type":"light"}"#)[0]["states"]
        #expect(states == ["light/passing": ["level": "no number"]])
    }

    @Test func aTypeThatIsGoneKeepsTheDaemonFromStarting() throws {
        try define(Self.first)
        _ = try life(#"{"op":"create","store":"light/a"}"#)
        try define("type: lamp\ninitial: {}\n")
        #expect(try refusal().contains("light is gone but has 1 store; put its definition back"))
    }

    @Test func aStoreThatCannotBeMigratedIsNamed() throws {
        try define(Self.first)
        _ = try life(#"{"op":"create","store":"light/a","state":{"level":"high"}}"#)
        try define(Self.second)
        let refused = try refusal()
        #expect(
            refused.contains("light/a: the step from version 1 to 2 fails: in set brightness"), "\(refused)")
    }
}
