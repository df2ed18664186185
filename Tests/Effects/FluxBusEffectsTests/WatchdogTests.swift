import BusJSON
import FluxBus
import Foundation
import TestServer
import Testing

/// The service's beats for the manager's watchdog.
@Suite struct WatchdogTests {
    private struct Watched {
        let manager = StandInManager()
        let fixture: EffectsFixture

        init(_ effects: [String: String]) throws {
            fixture = try EffectsFixture(effects)
            // A beat each 50 ms.
            try fixture.start(["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000"])
        }

        /// Whether so many beats come.
        func beats(_ count: Int) -> Bool {
            (0..<count).allSatisfy { _ in
                while let datagram = manager.next(waiting: true) {
                    if datagram.text == "WATCHDOG=1" { return true }
                }
                return false
            }
        }

        func forgetWhatCame() { while manager.next() != nil {} }
    }

    /// A service that can't write its messages any more stands still, as it does where anything else holds up its loop.
    @Test func aLoopThatIsStuckFeedsNoWatchdog() async throws {
        var effects: [String: String] = [:]
        // More is said than a pipe holds.
        for number in 0..<16 {
            effects["failing-effect-with-a-name-of-some-length-\(number)"] =
                "on: { action: echo, of: log/* }\ndo: { run: [/nonexistent/program] }\nretry: { times: 0 }\nlimit: { running: 64 }"
        }
        let watched = try Watched(effects)
        #expect(watched.beats(3))
        let bus = try await watched.fixture.bus()
        for _ in 0..<60 { try await bus.dispatch("echo", to: .store("log/a")) }
        let service = try #require(watched.fixture.service)
        let deadline = ContinuousClock.now + .seconds(20)
        var isStuck = false
        while !isStuck, ContinuousClock.now < deadline {
            watched.forgetWhatCame()
            isStuck = watched.manager.isSilent(for: 400)
        }
        #expect(isStuck)
        // Somebody reads them, and it goes on.
        for _ in 0..<960 { #expect(service.nextMessage() != nil) }
        #expect(watched.beats(3))
    }

    /// A target that hangs, or a daemon that does, is no reason to end the service.
    @Test func whatOthersHoldUpLeavesTheWatchdogFed() async throws {
        let server = try HookServer()
        let on = "on: { action: echo, of: log/* }\n"
        let more = "timeout: 1s\nretry: { times: 1000, first: 10ms }"
        let watched = try Watched([
            "hang": on + "do: { run: [/bin/sleep, 1000] }\n" + more,
            "post": on + "do: { post: { url: http://127.0.0.1:\(server.port)/hang } }\n" + more,
        ])
        let bus = try await watched.fixture.bus()
        for _ in 0..<10 { try await bus.dispatch("echo", to: .store("log/a")) }
        try await watched.fixture.waits(for: "effect/hang", bus) { $0["waiting"]?.int ?? 0 >= 9 }
        #expect(server.awaitRequest())
        watched.forgetWhatCame()
        #expect(watched.beats(6))
        watched.fixture.daemon.signal(SIGSTOP)
        watched.forgetWhatCame()
        #expect(watched.beats(6))
        watched.fixture.daemon.signal(SIGCONT)
        #expect(watched.beats(3))
        #expect(try watched.fixture.stop() == 0)
    }
}
