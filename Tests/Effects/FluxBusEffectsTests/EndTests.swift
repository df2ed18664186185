import BusJSON
import Dispatch
import FluxBus
import TestServer
import Testing

/// A service that is told to end waits for what runs, and not for what does not come to an end.
@Suite struct EndTests {
    /// The service manager takes the request for a job, and does not answer.
    @Test func aUnitThatIsWaitedForIsGivenUp() async throws {
        let manager = try LineListener()
        let fixture = try EffectsFixture([
            "alarm": "on: { action: echo, of: log/* }\ndo: { start: fluxbus-no-such-unit.service }"
        ])
        let path = manager.address.dropFirst("unix:".count)
        try fixture.start(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)"])
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        try await fixture.waits(for: "effect/alarm", bus, within: 60) { $0["running"] == 1 }
        #expect(try fixture.stop() == 0)
        // The next service handles it again.
        #expect(try await bus.state(of: "effect/alarm").state["isClean"] == false)
    }

    private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

    /// Nor does the bus answer any more.
    @Test func aDispatchThatIsNotAnsweredIsGivenUp() async throws {
        let fixture = try EffectsFixture([
            "note":
                "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/main, action: note, payload: { number: 1 } } }"
        ])
        let (isReached, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let relay = try LineRelay(to: fixture.address) { line in
            if line.contains(#""key":"note:"#) {
                isReached.signal()
                isOver.wait()
            }
            return line
        }
        defer { isOver.signal() }
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        wait(for: isReached)
        #expect(try fixture.stop() == 0)
    }
}
