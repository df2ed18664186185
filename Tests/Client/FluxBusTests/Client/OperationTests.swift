import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// Every operation once, against a real daemon.
@Suite(.timeLimit(.minutes(10))) struct OperationTests {
    @Test func greetingTellsWhoTheBusIs() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        #expect(bus.greeting.server == "fluxbusd")
        #expect(!bus.greeting.epoch.isEmpty)
        #expect(bus.greeting.identity["uid"]?.int != nil)
        #expect(bus.greeting.limits["batch"] == 1024)
        #expect(bus.status == .connected)
    }

    @Test func dispatchesReachStoresTypesAndEverything() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        try await bus.create("counter/a")
        let one = try await bus.dispatch("increment", to: .store("counter/a"), payload: ["by": 5])
        #expect(one.matched == 1 && one.changed == 1 && !one.isDuplicate)
        let all = try await bus.dispatch("increment", to: .type("counter"))
        #expect(all == DispatchReply(revision: one.revision + 1, matched: 2, changed: 2))
        #expect(try await bus.dispatch("ring", to: .everything).changed == 0)
        #expect(try await bus.state(of: "counter/a").state["count"] == 6)
        #expect(bus.revision == one.revision + 2)
    }

    @Test func batchIsOneCommitAndATrialIsNone() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let actions = [
            ActionRequest("increment", to: .store("counter/main"), payload: ["by": 2]),
            ActionRequest("write", to: .store("counter/main"), payload: ["text": "x"]),
        ]
        let trial = try await bus.tryOut(actions)
        #expect(trial["changed"] == 1)
        let before = try await bus.sync()
        let reply = try await bus.dispatch(actions)
        #expect(reply.revision == before + 1)
        #expect(try await bus.state(of: "counter/main").state == ["count": 2, "note": "x"])
    }

    @Test func expectedRevisionIsChecked() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let (_, revision) = try await bus.state(of: "counter/main")
        let reply = try await bus.dispatch("increment", to: .store("counter/main"), ifRevision: revision)
        let error = await #expect(throws: BusError.self) {
            try await bus.dispatch("increment", to: .store("counter/main"), ifRevision: revision)
        }
        #expect(error?.code == .conflict)
        #expect(error?.details["revision"] == .int(reply.revision))
    }

    @Test func conditionsAreChecked() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let store = DispatchTarget.store("counter/main")
        try await bus.dispatch("increment", to: store, if: "count == 0")
        for condition: JSON in ["count == 0", ["==": [["var": "count"], 0]]] {
            let error = await #expect(throws: BusError.self) {
                try await bus.dispatch("increment", to: store, if: condition)
            }
            #expect(error?.code == .conflict)
            #expect(error?.details["store"] == "counter/main")
        }
        await #expect(throws: BusError.self) { try await bus.drop("counter/main", if: "count == 0") }
        try await bus.create("counter/a")
        try await bus.drop("counter/a", if: "count == 0")
    }

    @Test func batchCreatesAndDropsStores() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        try await bus.create("counter/old")
        let steps: [BatchStep] = [
            .create("counter/new", state: ["count": 4]),
            .action("increment", to: .store("counter/new"), if: "count == 4"),
            .drop("counter/old", if: "count == 0"),
        ]
        #expect(try await bus.tryOut(steps)["dropped"] == ["counter/old"])
        let told = try await bus.dispatch(steps, returning: .states)
        #expect(told["states"]?["counter/new"]?["count"] == 5)
        #expect(told["dropped"] == ["counter/old"])
        let error = await #expect(throws: BusError.self) { try await bus.dispatch(steps) }
        #expect(error?.code == .exists)
        let revision = try await bus.state(of: "counter/new").revision
        let reply = try await bus.dispatch([
            .action("increment", to: .store("counter/new"), ifRevision: revision), .drop("counter/new"),
        ])
        #expect(reply.matched == 1 && reply.changed == 1)
    }

    @Test func storesGoByWhatTheyAreLike() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        for count in 0..<4 { try await bus.create("counter/\(count)", state: ["count": .int(count)]) }
        let reply = try await bus.drop(type: "counter", where: "count > 1")
        #expect(reply.matched == 2 && reply.changed == 2)
        let steps: [BatchStep] = [
            .action("increment", to: .type("counter"), where: "count == 1"),
            .drop(type: "counter", where: [">": [["var": "count"], 1]]),
        ]
        #expect(try await bus.dispatch(steps, returning: .states)["dropped"] == ["counter/1"])
        let left = try await bus.stores().stores.map(\.address)
        #expect(left.sorted() == ["counter/0", "counter/main"])
        await #expect(throws: BusError.self) { try await bus.drop(type: "nothing", where: "true") }
    }

    @Test func unacknowledgedDispatchIsCommittedAndItsFailureIsTold() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        var notices = bus.notices.makeAsyncIterator()
        for _ in 0..<10 { try await bus.dispatchUnacknowledged("increment", to: .store("counter/main")) }
        try await bus.dispatchUnacknowledged("increment", to: .store("counter/missing"))
        #expect(try await bus.state(of: "counter/main").state["count"] == 10)
        guard case .dispatchFailed(let error) = await notices.next() else {
            Issue.record("No notice came.")
            return
        }
        #expect(error.code == .unknownStore)
    }

    @Test func storesComeAndGo() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let made = try await bus.create("counter/b", state: ["count": 7])
        #expect(made.isNew)
        #expect(try await bus.create("counter/b", ifMissing: true).isNew == false)
        #expect(await code { try await bus.create("counter/b") } == .exists)
        #expect(try await bus.state(of: "counter/b").state["count"] == 7)
        let stores = try await bus.stores()
        #expect(stores.stores.map(\.address).sorted() == ["counter/b", "counter/main"])
        #expect(try await bus.drop("counter/b") > made.revision)
        #expect(await code { try await bus.state(of: "counter/b") } == .unknownStore)
    }

    @Test func pagesBringAllStates() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        for number in 0..<25 { try await bus.create("counter/p\(number)") }
        var addresses: Set<String> = []
        var count = 0
        for try await page in bus.pages(of: .match("counter/p*"), limit: 10) {
            count += 1
            addresses.formUnion(page.states.keys)
        }
        #expect(count == 3 && addresses.count == 25)
    }

    @Test func typesStatisticsHistoryAndTheRest() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        #expect(try await bus.types().count == 1)
        #expect(try await bus.types("counter")[0]["type"] == "counter")
        let stats = try await bus.stats()
        #expect(stats["stats"] == nil)
        #expect(stats["revision"] != nil || stats["stores"] != nil, "\(stats.keys)")
        try await bus.ping()
        try await bus.reload()
        try await bus.setWill([ActionRequest("increment", to: .store("counter/main"))])
        // Without an action log a daemon has no history, and says so in its own words.
        for outcome in [
            await code { _ = try await bus.history(limit: 5) },
            await code { try await bus.revert("counter/main", to: 1) },
        ] {
            #expect(outcome == nil || outcome != .invalidRequest)
        }
        #expect(await code { try await bus.request(BusRequest("subscribe")) } == .invalidRequest)
    }

    @Test func willIsCarriedOutAtTheEnd() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let observer = try await live.connect()
        let events = try await observer.subscribe(to: .store("counter/main"))
        try await bus.setWill([ActionRequest("increment", to: .store("counter/main"), payload: ["by": 9])])
        await bus.close()
        var mirror = BusMirror()
        for try await event in events {
            _ = try mirror.fold(event)
            if mirror.states["counter/main"]?["count"] == 9 { break }
        }
    }

    @Test func refusalsAreTypedErrors() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        #expect(await code { try await bus.dispatch("no", to: .store("counter/main")) } == .unknownAction)
        #expect(
            await code { try await bus.dispatch("limit", to: .store("counter/main"), payload: ["by": 6]) }
                == .rejected)
        #expect(
            await code { try await bus.dispatch("limit", to: .store("counter/main"), payload: ["by": "x"]) }
                == .invalidPayload)
        let long = JSONObject(dictionaryLiteral: ("text", .string(String(repeating: "x", count: 2 << 20))))
        #expect(
            await code { try await bus.dispatch("write", to: .store("counter/main"), payload: long) }
                == .tooLarge)
        var deep: JSON = 1
        for _ in 0..<100 { deep = [deep] }
        let payload: JSONObject = ["text": deep]
        #expect(
            await code { try await bus.dispatch("write", to: .store("counter/main"), payload: payload) }
                == .tooLarge)
        try await bus.ping()
    }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws -> Void) async -> BusError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? BusError)?.code
    }
}

func code<Value>(_ body: () async throws -> Value) async -> BusError.Code? {
    await code { () async throws -> Void in _ = try await body() }
}
