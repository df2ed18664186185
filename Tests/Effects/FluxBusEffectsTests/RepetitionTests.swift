import BusJSON
import Dispatch
import FluxBus
import Synchronization
import TestServer
import Testing

/// What is sent again: the bus is asked whether it knows that it was committed, since it remembers keys for so long only.
@Suite struct RepetitionTests {
    /// A dispatch of the effect `note` on its way to the bus.
    private struct Sent: Equatable {
        let key: String
        /// Whether the bus refuses it where it can't know that it is the first.
        let isRepeated: Bool

        init?(_ line: String) {
            guard line.contains(#""key":"note:"#), let request = try? JSON(parsing: Array(line.utf8)),
                let key = request["key"]?.string
            else { return nil }
            self.key = key
            isRepeated = request["after"] != nil && request["epoch"] != nil
        }
    }

    /// What has been sent.
    private final class Record: Sendable {
        private let all = Mutex<[Sent]>([])

        /// Adds it; whether it is the first.
        func add(_ sent: Sent) -> Bool {
            all.withLock { all in
                all.append(sent)
                return all.count == 1
            }
        }

        func take() -> [Sent] {
            all.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    /// One event is tried again and again: of those behind it so many are handled as fit into memory, and a start that handles
    /// them again sends none of them as if it were the first to do so.
    @Test func whatIsHandledBehindARetryIsBounded() async throws {
        let fixture = try EffectsFixture([
            "note":
                "on: { action: echo, of: log/* }\ndo: { dispatch: { store: = payload.text, action: note, payload: { number: = payload.number } } }\nlimit: { running: 16 }\nretry: { times: 1000, first: 1s, most: 1s }"
        ])
        let record = Record()
        let relay = try LineRelay(to: fixture.address) { line in
            if let sent = Sent(line) { _ = record.add(sent) }
            return line
        }
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        func echo(_ store: String, _ text: String, _ numbers: ClosedRange<Int>) async throws {
            try await bus.dispatch(
                numbers.map { number in
                    ActionRequest(
                        "echo", to: .store(store), payload: ["text": .string(text), "number": .int(number)])
                })
        }
        try await echo("log/b", "log/late", 0...0)
        for part in 0..<3 { try await echo("log/a", "log/main", part * 500 + 1...part * 500 + 500) }
        // Nothing is left to do but this one.
        try await fixture.waits(for: "effect/note", bus, within: 60) {
            $0["retried"]?.int ?? 0 >= 5 && $0["succeeded"]?.int ?? 0 >= 1000
                && ($0["running"]?.int ?? 0) + ($0["waiting"]?.int ?? 0) == 1
        }
        #expect(try await bus.state(of: "effect/note").state["succeeded"]?.int ?? 0 <= 1024)
        try fixture.stop()
        var sent = Set(record.take().map(\.key))
        try fixture.start(through: relay)
        try await fixture.waits(for: "effect/note", bus, within: 60) { $0["succeeded"]?.int ?? 0 >= 2000 }
        try await bus.create("log/late")
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"]?.array?.count == 1500 }
        try await fixture.waits(for: "log/late", bus, within: 60) { $0["notes"] == [0] }
        let again = record.take().filter { sent.remove($0.key) != nil }
        #expect(again.count > 1000 && again.allSatisfy(\.isRepeated))
        let notes = try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int)
        #expect(notes == Array(1...1500))
        #expect(try fixture.stop() == 0)
    }

    /// A dispatch was not answered in time: it may have been committed, whether it is tried again by itself or when somebody asks.
    @Test(arguments: [0, 1000]) func whatWasNotAnsweredMayBeCommitted(_ times: Int) async throws {
        let fixture = try EffectsFixture([
            "note":
                "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }\ntimeout: 1s\nretry: { times: \(times), first: 10ms }",
            // Tells when that time has passed, while nothing gets to the bus.
            "slow":
                "on: { action: echo, of: log/* }\ndo: { run: [/bin/sleep, 1000] }\ntimeout: 2s\nretry: { times: 0 }",
        ])
        let (record, isOver) = (Record(), DispatchSemaphore(value: 0))
        let relay = try LineRelay(to: fixture.address) { line in
            if let sent = Sent(line), record.add(sent) { isOver.wait() }
            return line
        }
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        let revision = try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1]).revision
        #expect(try #require(fixture.service).waitFor("slow: "))
        isOver.signal()
        if times == 0 {
            try await fixture.waits(for: "effect/note", bus, within: 60) { $0["failed"] != [:] }
            try await bus.dispatch(
                "retry", to: .store("effect/note"), payload: ["event": .string("\(revision):0")])
        }
        try await fixture.waits(for: "effect/note", bus, within: 60) { $0["succeeded"] == 1 }
        let sent = record.take().map(\.isRepeated)
        #expect(sent.count > 1 && sent == [false] + Array(repeating: true, count: sent.count - 1))
        #expect(try await bus.state(of: "log/main").state["notes"] == [1])
        #expect(try fixture.stop() == 0)
    }
}
