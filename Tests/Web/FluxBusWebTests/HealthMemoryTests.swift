import BusJSON
import FluxBusWeb
import TestServer
import Testing

@Suite("Counters of the last hour")
struct HealthMemoryTests {
    private func stats(_ commits: Int, turn buckets: [(Double, Int)] = []) -> JSONObject {
        [
            "uptime": 5, "revision": .int(commits), "totals": ["commits": .int(commits)], "stores": 3,
            "version": "1",
            "log": ["bytes": 4096, "durable": 2],
            "histograms": [
                "turn": ["buckets": .array(buckets.map { [.double($0.0), .int($0.1)] })],
                "group": ["buckets": [[1, 2]]],
            ],
        ]
    }

    private func samples(_ memory: HealthMemory) throws -> [JSON] {
        let answer = try JSON(parsing: Array(memory.encoded(now: 77).utf8))
        #expect(answer["now"] == 77)
        return try #require(answer["samples"]?.array)
    }

    @Test func whatIsPlottedIsKept() throws {
        let memory = HealthMemory()
        memory.add(stats(7), at: 60)
        #expect(
            try samples(memory) == [
                [
                    "time": 60, "uptime": 5, "revision": 7, "totals": ["commits": 7], "stores": 3,
                    "log": ["bytes": 4096], "histograms": ["turn": [:]],
                ]
            ])
    }

    @Test func quantilesAreOfTheTimeSinceTheLastSample() throws {
        let memory = HealthMemory()
        memory.add(stats(1, turn: [(0.001, 1000), (0.5, 10)]), at: 0)
        memory.add(stats(2, turn: [(0.001, 1000), (0.002, 98), (0.5, 12)]), at: 10)
        // Another daemon counts from zero.
        memory.add(stats(1, turn: [(0.004, 3)]), at: 20)
        let turns = try samples(memory).map { $0["histograms"]?["turn"] }
        #expect(turns[0] == ["p50": 0.001, "p99": 0.001])
        #expect(turns[1] == ["p50": 0.002, "p99": 0.5])
        #expect(turns[2] == ["p50": 0.004, "p99": 0.004])
    }

    @Test func anHourIsKept() throws {
        let memory = HealthMemory()
        for index in 0..<HealthMemory.most + 5 { memory.add(stats(index), at: index * 10) }
        memory.addGap(at: 9999)
        let kept = try samples(memory)
        #expect(kept.count == HealthMemory.most && kept[0]["time"] == 60)
        #expect(kept.last == ["time": 9999, "isDown": true])
    }

    @Test func whoeverHasSignedInSeesThem() async throws {
        try await WebFixture.run { setup, _ in
            setup.healthRhythm = .milliseconds(5)
        } _: { (web) throws in
            #expect(try web.ask("GET", "/health").status == 401)
            #expect(try web.ask("POST", "/health").status == 405)
            let cookie = ["Cookie": try web.signIn()]
            func samples() throws -> [JSON] {
                let answer = try web.ask("GET", "/health", cookie)
                #expect(answer.status == 200 && answer.fields["content-type"] == "application/json")
                return try JSON(parsing: Array(answer.text.utf8))["samples"]?.array ?? []
            }
            func until(_ holds: ([JSON]) -> Bool) throws {
                for _ in 0..<20_000 where try holds(samples()) { return }
                Issue.record("It was not remembered.")
            }
            try until { $0.count >= 2 }
            #expect(try samples()[0]["totals"]?["commits"] != nil)
            web.bus.stop()
            try until { $0.last?["isDown"] == true }
            try web.bus.start()
            try until { $0.last?["isDown"] == nil }
        }
    }
}
