import BusJSON
import FluxBusCommand
import TestSupport
import Testing

@Suite("What top makes of the bus's answers")
struct TopModelTests {
    private let model = TopModel(TopSamples.later, since: TopSamples.earlier)

    @Test func ratesAreDifferencesInTime() {
        #expect(model.interval == 2)
        #expect(model.commitRate == 100)
        #expect(model.rate("totals", "events") == 200)
        #expect(model.rate("log", "bytes") == 1024)
        #expect(model.errorRate == 1)
        #expect(model.rate("totals", "nothing") == nil)
        let rates = model.actions.map { "\($0.type) \($0.action ?? "") \($0.rate ?? -1) \($0.total)" }
        #expect(
            Set(rates) == ["counter increment 5.0 60.0", "counter reset 0.0 1.0", "door rang 50.0 120.0"])
        let types = model.types.map { "\($0.type) \($0.rate ?? -1) \($0.total)" }
        #expect(Set(types) == ["counter 5.0 61.0", "door 50.0 120.0"])
        #expect(model.clients.map(\.delivered) == [200, 0])
        // All that a new client has sent, it sent since.
        #expect(model.clients.map(\.dispatched) == [0, 4])
    }

    @Test func latenciesAreThoseBetweenTheSamples() throws {
        let turn = try #require(model.latencies.first { $0.name == "turn" }).reading
        #expect(turn.count == 20)
        #expect(turn.quantile(0.5) == 0.001)
        #expect(turn.quantile(0.51) == 0.002)
        // The slow one was before.
        #expect(turn.quantile(1) == 0.002 && turn.max == 0.002)
        let fsync = try #require(model.latencies.first { $0.name == "fsync" }).reading
        #expect(fsync.count == 0 && fsync.quantile(0.5) == nil)
    }

    @Test func withoutAnEarlierSampleOrAfterARestartThereAreNoRates() {
        for model in [
            TopModel(TopSamples.later, since: nil), TopModel(TopSamples.restarted, since: TopSamples.later),
        ] {
            #expect(model.interval == nil && model.commitRate == nil && model.errorRate == nil)
            #expect(
                model.actions.allSatisfy { $0.rate == nil }
                    && model.clients.allSatisfy { $0.delivered == nil })
        }
        // Until then, latencies are those since the start.
        let first = TopModel(TopSamples.later, since: nil)
        #expect(first.latencies.first { $0.name == "turn" }?.reading.count == 120)
    }

    @Test func whoDoesNotManageTheBusSeesItsRevision() {
        func sample(_ time: Double, _ revision: Int) -> TopSample {
            TopSample(time: time, stats: ["revision": .int(revision), "epoch": "e"], clients: nil)
        }
        let model = TopModel(sample(2, 30), since: sample(1, 10))
        #expect(model.commitRate == 20 && model.latencies.isEmpty && model.actions.isEmpty)
    }

    @Test func programsGetOneObject() throws {
        let json = try JSON(parsing: model.json.encoded)
        #expect(json["rates"]?["commits"] == 100 && json["rates"]?["logBytes"] == 1024)
        #expect(json["latencies"]?["turn"]?["p99"] == 0.002 && json["latencies"]?["fsync"] == ["count": 0])
        #expect(
            json["types"] == [
                ["type": "counter", "total": 61, "perSecond": 5],
                ["type": "door", "total": 120, "perSecond": 50],
            ])
        #expect(json["clients"]?.array?.last?["dispatchedPerSecond"] == 4)
        #expect(json["interval"] == 2)
    }

    @Test func aSampleIsMadeOfOneAnswerAndAllPages() throws {
        var sampler = TopSampler()
        #expect(!sampler.isAsking)
        #expect(sampler.begin().map(\.op) == ["stats", "clients"])
        guard case .wait = try sampler.take(["ok": true, "stats": ["revision": 7]], at: 3) else {
            Issue.record("Clients are awaited.")
            return
        }
        guard
            case .ask(let request) = try sampler.take(["ok": true, "clients": [["id": 1]], "next": 1], at: 4)
        else {
            Issue.record("There is another page.")
            return
        }
        #expect(request.op == "clients" && request["after"] == 1 && sampler.isAsking)
        guard case .sample(let sample) = try sampler.take(["ok": true, "clients": [["id": 2]]], at: 5) else {
            Issue.record("That was the last page.")
            return
        }
        #expect(
            sample.time == 3 && sample.stats["revision"] == 7 && sample.clients == [["id": 1], ["id": 2]])
        #expect(!sampler.isAsking)
        // A bus that lists no clients still has counters; one that refuses them has nothing to show.
        _ = sampler.begin()
        _ = try sampler.take(["ok": true, "stats": [:]], at: 6)
        if case .sample(let sample) = try sampler.take(["ok": false], at: 7) {
            #expect(sample.clients == nil)
        } else {
            Issue.record("It is complete.")
        }
        _ = sampler.begin()
        #expect(throws: (any Error).self) {
            try sampler.take(["ok": false, "error": ["code": "forbidden"]], at: 8)
        }
    }

    @Test func keysChangeTheView() {
        var (view, keys) = (TopView(), KeyReader())
        func press(_ text: String) -> Bool {
            keys.keys(in: text.utf8).reduce(true) { isRunning, key in view.press(key) && isRunning }
        }
        // Arrows, function keys and controls mean nothing, however they are cut.
        #expect(press("\u{1b}[A\u{1b}OP\u{1b}[15~\u{1}\u{1b}["))
        #expect(press("q"))
        #expect(view == TopView())
        #expect(press("3") && view.section == .clients)
        #expect(press("ss") && view.sort == 2)
        #expect(press("1") && view.section == .types && view.sort == 0)
        #expect(press(" ") && view.isPaused && press(" ") && !view.isPaused)
        #expect(press("+") && view.interval == 2 && press("---") && view.interval == 0.25 && press("-"))
        #expect(view.interval == 0.25)
        #expect(press("?") && view.showsHelp && press("q") && !view.showsHelp)
        #expect(!press("q"))
    }
}
