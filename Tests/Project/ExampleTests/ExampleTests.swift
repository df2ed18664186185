import BusJSON
import FluxBus
import Testing

/// The example programs, run as a reader would run them: each in processes of its own, against a real daemon.
@Suite(.timeLimit(.minutes(5))) struct ExampleTests {
    @Test func counterIsSeenInTwoProcesses() throws {
        let bus = try ExampleBus()
        let first = try RunningProgram("example-counter", bus: bus.address)
        #expect(first.nextLine() == "0 even")
        try first.send("3")
        #expect(first.nextLine() == "3 odd")
        let second = try RunningProgram("example-counter", bus: bus.address)
        #expect(second.nextLine() == "3 odd")
        try second.send("4")
        #expect(second.nextLine() == "7 odd")
        #expect(first.nextLine() == "7 odd")
        try first.send("reset")
        #expect(second.reads("0 even"))
        try first.endInput()
        #expect(first.waitForExit() == 0)
    }

    @Test func presenceListEmptiesItselfWhenAProcessIsKilled() throws {
        let bus = try ExampleBus()
        let anna = try RunningProgram("example-presence", ["anna"], bus: bus.address)
        #expect(anna.reads("anna"))
        let bert = try RunningProgram("example-presence", ["bert"], bus: bus.address)
        #expect(bert.reads("anna bert"))
        #expect(anna.reads("anna bert"))
        bert.kill()
        #expect(anna.reads("anna"))
        let carl = try RunningProgram("example-presence", ["carl"], bus: bus.address)
        #expect(anna.reads("anna carl"))
        try carl.endInput()
        #expect(carl.waitForExit() == 0)
        #expect(anna.reads("anna"))
    }

    @Test func customDaemonServesItsCompiledType() async throws {
        let daemon = try ExampleBus("example-daemon", types: false)
        let bus = try await Bus.connect(BusAddress(parsing: daemon.address))
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
