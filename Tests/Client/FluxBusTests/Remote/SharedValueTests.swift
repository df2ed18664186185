import FluxBus
import TestServer
import Testing

/// One value for all processes.
@Suite(.timeLimit(.minutes(10))) struct SharedValueTests {
    private static let type = """
        type: value
        initial: { value: null }
        actions:
          set:
            payload: { value: any }
            set: { value: { var: payload.value } }
        """

    private func live() throws -> LiveBus { try LiveBus(types: ["value": Self.type]) }

    @Test func valueIsReadSetAndObservedByAll() async throws {
        let live = try live()
        let (first, second) = (try await live.connect(), try await live.connect())
        let volume = try await first.value("volume", default: 50)
        let same = try await second.value("volume", default: 10)
        #expect(same.value == 50, "the first one made it")
        var values = same.values.makeAsyncIterator()
        #expect(await values.next() == 50)
        try await volume.set(60)
        #expect(volume.value == 60)
        #expect(await values.next() == 60)
    }

    /// Whoever has been told that a value is set may tell another one, who reads it.
    @Test func readHoldsWhatOthersHaveBeenToldIsSet() async throws {
        let live = try live()
        let (first, second) = (try await live.connect(), try await live.connect())
        let written = try await first.value("level", default: 0)
        let read = try await second.value("level", default: 0)
        let optimistic = try await second.store("level", of: SharedValueState.self, isOptimistic: true)
        for level in 1...300 {
            try await written.set(level)
            #expect(try await read.read().value == level)
            try await written.set(-level)
            optimistic.actions.dispatch(.set(value: .string("mine \(level)")))
            let state = try await optimistic.confirmed().state.value
            #expect(state == .string("mine \(level)") || state == .int(-level))
        }
    }

    @Test func setWithAnOldRevisionIsAConflict() async throws {
        let live = try live()
        let bus = try await live.connect()
        let mode = try await bus.value("mode", default: "auto")
        let (value, revision) = try await mode.read()
        #expect(value == "auto")
        let next = try await mode.set("manual", ifRevision: revision)
        let error = await #expect(throws: BusError.self) { try await mode.set("off", ifRevision: revision) }
        #expect(error?.code == .conflict)
        #expect(error?.details["revision"] == .int(next))
        #expect(mode.value == "manual")
    }

    @Test func concurrentUpdatesLoseNothing() async throws {
        let live = try live()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let bus = try await live.connect()
                group.addTask {
                    let total = try await bus.value("total", default: 0)
                    for _ in 0..<25 { try await total.update { $0 + 1 } }
                }
            }
            try await group.waitForAll()
        }
        let bus = try await live.connect()
        #expect(try await bus.value("total", default: 0).value == 100)
    }

    @Test func anyCodableValueWillDo() async throws {
        struct Song: Codable, Sendable, Equatable {
            var title: String
            var seconds: Double?
        }
        let live = try live()
        let bus = try await live.connect()
        let song = try await bus.value("song", default: [Song(title: "Hush")])
        try await song.set([Song(title: "Hush", seconds: 201.5), Song(title: "Rush")])
        #expect(song.value.map(\.title) == ["Hush", "Rush"])
        #expect(song.value[0].seconds == 201.5)
    }

    @Test func valueOfAnotherKindIsToldNotGuessed() async throws {
        let live = try live()
        let bus = try await live.connect()
        let number = try await bus.value("level", default: 1)
        try await bus.dispatch("set", to: .store("value/level"), payload: ["value": "loud"])
        #expect(number.value == 1)
        let error = await #expect(throws: BusError.self) { try await number.read() }
        #expect(error?.code == .unfitState)
    }
}
