import BusJSON
import FluxBus
import TestFiles
import TestServer
import Testing

/// The example programs, run as a reader would run them: each in processes of its own, against a real daemon.
@Suite(.timeLimit(.minutes(10))) struct ExampleTests {
    private let place = TemporaryDirectory()
    private var address: String { "unix:\(place.path)/s" }

    /// A daemon as a process of its own. It says so when it listens.
    private func start(_ program: String, _ arguments: [String] = []) throws -> RunningProgram {
        let daemon = try RunningProgram(program, ["--listen", address] + arguments)
        let message = try #require(daemon.nextMessage())
        try #require(message.contains("listening"), "\(message)")
        return daemon
    }

    private func startSamples() throws -> RunningProgram {
        try start("fluxbusd", ["--types", Repository.sampleTypes])
    }

    /// An example that talks to the daemon, and to the test.
    private func run(_ example: String, _ arguments: [String] = []) throws -> RunningProgram {
        try RunningProgram(
            example, arguments, environment: ["FLUXBUS_ADDRESS": address], hasInput: true)
    }

    @Test func counterIsSeenInTwoProcesses() throws {
        let daemon = try startSamples()
        defer { daemon.kill() }
        let first = try run("example-counter")
        #expect(first.nextLine() == "0 even")
        try first.send("3")
        #expect(first.nextLine() == "3 odd")
        let second = try run("example-counter")
        #expect(second.nextLine() == "3 odd")
        try second.send("4")
        #expect(second.nextLine() == "7 odd")
        #expect(first.nextLine() == "7 odd")
        try first.send("reset")
        #expect(second.reads("0 even"))
        try first.endInput()
        #expect(try first.wait().status == 0)
    }

    @Test func presenceListEmptiesItselfWhenAProcessIsKilled() throws {
        let daemon = try startSamples()
        defer { daemon.kill() }
        let anna = try run("example-presence", ["anna"])
        #expect(anna.reads("anna"))
        let bert = try run("example-presence", ["bert"])
        #expect(bert.reads("anna bert"))
        #expect(anna.reads("anna bert"))
        bert.kill()
        #expect(anna.reads("anna"))
        let carl = try run("example-presence", ["carl"])
        #expect(anna.reads("anna carl"))
        try carl.endInput()
        #expect(try carl.wait().status == 0)
        #expect(anna.reads("anna"))
    }

    @Test func customDaemonServesItsCompiledType() async throws {
        let daemon = try start("example-daemon")
        defer { daemon.kill() }
        let bus = try await Bus.connect(BusAddress(parsing: address))
        let types = try await bus.types().compactMap { $0["type"]?.string }
        #expect(types == ["parking"])
        try await bus.create("parking/north", state: ["places": 1])
        try await bus.dispatch("enter", to: .type("parking"), payload: ["plate": "B-XY-42"])
        let north = try await bus.state(of: "parking/north").state
        #expect(north == ["cars": ["B-XY-42": ["paid": false]], "free": 0, "places": 1])
        let refusal = await #expect(throws: BusError.self) {
            try await bus.dispatch("enter", to: .store("parking/north"), payload: ["plate": "M-AB-1"])
        }
        #expect(refusal?.code == .rejected)
        #expect(refusal?.message.contains("no place is free") == true)
        await bus.close()
    }
}
