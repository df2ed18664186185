import BusJSON
import Foundation
import TestServer
import Testing

/// What `stats` tells of a bus with sockets and a log: what only its owner can measure.
@Suite struct StatisticsTests {
    private func stats(_ client: LineClient) throws -> JSONObject {
        try #require(try JSON(parsing: client.ask(#"{"op":"stats"}"#))["stats"]?.object)
    }

    private func count(_ stats: JSONObject, _ histogram: String) -> Int {
        stats["histograms"]?[histogram]?["count"]?.int ?? -1
    }

    @Test(arguments: [false, true]) func timesAreMeasured(hasLog: Bool) throws {
        var setup = LiveBus.Setup()
        setup.hasLog = hasLog
        let bus = try LiveBus(setup)
        let client = try bus.client()
        let before = try stats(client)
        for _ in 0..<640 {
            _ = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        }
        let after = try stats(client)
        // One request in 64 is looked at, and every reply of a client that waits for each.
        #expect((9...11).contains(count(after, "commit") - count(before, "commit")))
        #expect(count(after, "turn") - count(before, "turn") >= 640)
        #expect((640...645).contains(count(after, "reply") - count(before, "reply")))
        #expect(after["actions"]?["counter"]?["increment"] == 640)
        #expect(try #require(after["uptime"]?.double) > 0)
        #expect(try #require(after["residentMemory"]?.int) > 1 << 20)
        for name in ["turn", "commit", "reply"] {
            let histogram = try #require(after["histograms"]?[name])
            let (middle, most) = (histogram["p50"]?.double ?? 0, histogram["max"]?.double ?? 0)
            #expect(middle > 0 && middle <= most && most < 60, "\(name): \(histogram)")
        }
        guard hasLog else {
            #expect(after["log"] == nil)
            return #expect(count(after, "logWrite") == 0)
        }
        let log = try #require(after["log"])
        #expect(log["durable"]?.int == after["revision"]?.int)
        #expect(log["sync"] == "always")
        #expect(try #require(log["bytes"]?.int) > 4096)
        #expect(count(after, "logWrite") - count(before, "logWrite") >= 640)
        #expect(count(after, "group") == count(after, "logWrite"))
        #expect(
            (after["histograms"]?["reply"]?["p50"]?.double ?? 0)
                >= (after["histograms"]?["logWrite"]?["p50"]?.double ?? 1) / 4)
    }

    /// The past by time out of a log's file, whose groups are found by bisection, against the times of its commits.
    @Test func timesAreFoundInTheFile() throws {
        var setup = LiveBus.Setup()
        setup.hasLog = true
        let bus = try LiveBus(setup)
        let client = try bus.client()
        for _ in 0..<120 {
            _ = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        }
        let all = try #require(
            try JSON(parsing: client.ask(#"{"op":"history","limit":1000}"#))["commits"]?.array)
        let times = try all.map { try #require($0["time"]?.double) }
        #expect(times == times.sorted())
        for (index, time) in times.enumerated() where index % 7 == 0 {
            let expected = times.count { $0 <= time }
            let history = try JSON(parsing: client.ask(#"{"op":"history","time":\#(time),"limit":1}"#))
            #expect(history["since"]?.int == expected)
            let get = try JSON(
                parsing: client.ask(
                    #"{"op":"get","store":"counter/main","select":["/count"],"time":\#(time)}"#))
            #expect(get["states"]?["counter/main"]?["count"]?.int == expected - 1, "\(get)")
        }
    }

    /// A kick reaches the socket: the goodbye, and then the end.
    @Test func aKickedSocketIsClosed() throws {
        let bus = try LiveBus()
        let (operatorClient, victim) = (try bus.client(), try bus.client())
        _ = try victim.ask(#"{"op":"ping"}"#)
        let listed = try JSON(parsing: operatorClient.ask(#"{"op":"clients"}"#))["clients"]?.array ?? []
        let id = try #require(listed.first { $0["self"] == nil }?["id"]?.int)
        #expect(
            try operatorClient.ask(#"{"op":"kick","client":\#(id),"reason":"Maintenance."}"#)
                == #"{"ok":true}"#)
        #expect(try victim.line() == #"{"event":"goodbye","code":"kicked","message":"Maintenance."}"#)
        #expect(try victim.line() == nil)
    }
}
