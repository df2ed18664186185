import BusJSON
import TestModes
import TestSupport
import Testing

/// `time` in place of a revision.
@Suite(.inBothModes) struct PastTimeTests {
    /// Against the times of the commits themselves: a bus that commits now and then, several times in a millisecond too, with
    /// equal commits that share an entry of the log.
    @Test(
        arguments: [UInt64(1), 2, 3]) func aTimeMeansItsLastCommit(_ seed: UInt64) throws
    {
        var random = SeededGenerator(seed: seed)
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect(uid: 7)
        // What the counter was from which time on, and after which revision.
        var was: [(time: Int, revision: Int, count: Int)] = [(bus.now, 1, 0)]
        let start = bus.now
        for _ in 0..<60 {
            if Bool.random(using: &random) {
                bus.advance(milliseconds: Int.random(in: 0...2000, using: &random))
            }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let by = Bool.random(using: &random) ? 1 : Int.random(in: 1...9, using: &random)
                let revision = try client.increment(by: by)
                was.append((bus.now, revision, was.last!.count + by))
            }
        }
        bus.advance(milliseconds: 5000)
        for _ in 0..<80 {
            let exact = was.randomElement(using: &random)!.time
            let time = max(start, exact + Int.random(in: -3...3, using: &random))
            let expected = was.last { $0.time <= time }!
            let seconds = Double(time) / 1000
            let reply = try client.reply(to: #"{"op":"get","store":"counter/a","time":\#(seconds)}"#)
            #expect(reply["revision"]?.int == expected.revision, "\(time)")
            #expect(reply["states"]?["counter/a"]?["count"]?.int == expected.count)
            let history = try client.reply(to: #"{"op":"history","time":\#(seconds),"limit":1}"#)
            #expect(history["since"]?.int == expected.revision)
            #expect(
                history["commits"]?.array?.first?["revision"]?.int
                    == (expected.revision == bus.engine.revision ? nil : expected.revision + 1))
        }
    }

    /// Between two milliseconds the earlier one counts, however near the later one is.
    @Test(arguments: ["0", "4", "5", "6", "9", "999"]) func aTimeIsNotRounded(_ decimals: String) throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect(uid: 7)
        bus.advance(milliseconds: 10)
        let first = try client.increment()
        let milliseconds = String(bus.now)
        bus.advance(milliseconds: 1)
        let second = try client.increment()
        let time = "\(milliseconds.dropLast(3)).\(milliseconds.suffix(3))\(decimals)"
        let reply = try client.reply(to: #"{"op":"get","store":"counter/a","time":\#(time)}"#)
        #expect(reply["revision"]?.int == first)
        #expect(reply["states"]?["counter/a"]?["count"] == 1)
        let history = try client.reply(to: #"{"op":"history","time":\#(time)}"#)
        #expect(history["since"]?.int == first)
        #expect(history["commits"]?[0]?["revision"]?.int == second)
    }

    @Test func aTimeToComeIsThePresent() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect(uid: 7)
        try client.increment()
        for time in ["\(Double(bus.now) / 1000)", "\(bus.now / 1000 + 100)", "253402300799"] {
            let reply = try client.reply(to: #"{"op":"get","store":"counter/a","time":\#(time)}"#)
            #expect(reply["states"]?["counter/a"]?["count"] == 1, "\(time)")
            #expect(reply["revision"] == 2)
        }
        #expect(try client.reply(to: #"{"op":"history","time":253402300799}"#)["since"] == 2)
    }

    /// The definitions of then, and pages as usual.
    @Test func typesAndPagesTakeATime() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b") {
            $0.definitions = ["type: lamp\ninitial: { level: 4 }"]
        }
        let client = bus.connect(uid: 0)
        let before = Double(bus.now) / 1000
        bus.advance(milliseconds: 1000)
        bus.definitions = ["type: lamp\ninitial: { level: 4, on: false }"]
        try client.reply(to: #"{"op":"reload"}"#)
        let types = try client.reply(to: #"{"op":"types","type":"lamp","time":\#(before)}"#)["types"]
        #expect(types?[0]?["initial"] == ["level": 4])
        let page = try client.reply(to: #"{"op":"get","type":"counter","time":\#(before),"limit":1}"#)
        #expect(page["states"]?.object?.count == 1)
        #expect(page["next"] == "counter/a")
    }

    /// What is no longer kept is told from what never was.
    @Test func aTimeBeforeTheLogIsAConflict() throws {
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a") { $0.log = log }
        let client = bus.connect(uid: 7)
        let first = bus.now
        try client.increment()
        bus.advance(milliseconds: 1000)
        try client.increment()
        log.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        bus.advance(milliseconds: 1000)
        try client.increment()
        log.forget(before: 3)
        let reply = try client.reply(to: #"{"op":"get","store":"counter/a","time":\#(first / 1000)}"#)
        #expect(reply["error"]?["code"] == "conflict")
        #expect(reply["error"]?["oldest"] == 3)
        #expect(
            try client.reply(to: #"{"op":"history","time":\#(first / 1000)}"#)["error"]?["code"] == "conflict"
        )
        // The oldest that is kept can be reached by its time.
        let oldest = Double(first + 1000) / 1000
        let kept = try client.reply(to: #"{"op":"get","store":"counter/a","time":\#(oldest)}"#)
        #expect(kept["states"]?["counter/a"]?["count"] == 2, "\(kept)")
    }

    @Test(arguments: [
        #""time":"yesterday""#, #""time":-1"#, #""time":true"#, #""time":1e300"#, #""time":null"#,
        #""time":1,"revision":1"#,
    ])
    func mistakesNameTheMember(_ members: String) throws {
        let client = try MemoryBus.logging("counter/a").connect(uid: 7)
        let error = try client.reply(to: #"{"op":"get","store":"counter/a",\#(members)}"#)["error"]
        #expect(error?["code"] == "invalid_request")
        #expect(error?["member"] == "time")
    }

    @Test(.aloneOnly(because: "A shared bus always has a log.")) func withoutALogThereIsNoPast() throws {
        let client = try MemoryBus.with("counter/a").connect(uid: 7)
        for line in [
            #"{"op":"get","store":"counter/a","time":1}"#, #"{"op":"types","time":1}"#,
            #"{"op":"history","time":1}"#,
        ] {
            #expect(try client.code(of: line) == "unavailable")
        }
    }
}
