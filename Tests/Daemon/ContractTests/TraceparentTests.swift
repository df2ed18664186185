import BusJSON
import TestModes
import TestSupport
import Testing

/// The place in a trace that a dispatch belongs to goes along with its commit.
@Suite(.inBothModes) struct TraceparentTests {
    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static func increment(_ more: String = "", _ target: String = #""store":"counter/a""#) -> String {
        #"{"op":"dispatch",\#(target),"action":"increment"\#(more)}"#
    }

    private static func traced(_ more: String = "", by trace: String = trace) -> String {
        increment(#","traceparent":"\#(trace)"\#(more)"#)
    }

    private func bus(_ log: MemoryLog? = MemoryLog()) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        (setup.stores, setup.log) = (["counter/a", "counter/b"], log)
        return try MemoryBus(setup)
    }

    @Test func eventsCausesAndHistoryHaveIt() throws {
        let bus = try bus()
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","match":"counter/*","actions":true,"initial":false}"#)
        try watcher.ask(#"{"op":"subscribe","match":"counter/*","cause":true,"initial":false}"#)
        let first = try client.revision(after: Self.traced())
        let second = try client.revision(after: Self.increment())
        let batch =
            #"{"op":"dispatch","traceparent":"\#(Self.trace)","actions":[{"store":"counter/a","action":"increment"},{"type":"counter","action":"increment"}]}"#
        let third = try client.revision(after: batch)
        let events = try watcher.all()
        func traces(_ events: [JSON]) -> [Int: [JSON?]] {
            Dictionary(grouping: events) { $0["revision"]?.int ?? 0 }.mapValues {
                $0.map { $0["traceparent"] }
            }
        }
        let trace = JSON.string(Self.trace)
        #expect(
            traces(events.filter { $0["event"] == "action" }) == [
                first: [trace], second: [nil], third: [trace, trace],
            ])
        let causes = events.filter { $0["event"] == "change" }.map { $0["cause"]?["traceparent"] }
        #expect(causes == [trace, nil, trace])
        let commits = try client.reply(to: #"{"op":"history","type":"counter","since":\#(first - 1)}"#)[
            "commits"]
        #expect(traces(commits?.array ?? []) == [first: [trace], second: [nil], third: [trace]])
    }

    /// A log with traces is replayed, and a subscription that is resumed is told them.
    @Test func itLastsOverARestart() throws {
        let before = try bus()
        let client = before.connect()
        let reply = try client.reply(to: Self.traced())
        for _ in 0..<3 { try client.revision(after: Self.traced()) }
        try client.revision(after: Self.increment())
        let states = try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]
        let next = try before.crash()
        let after = next.connect()
        #expect(try after.reply(to: #"{"op":"get","type":"counter"}"#)["states"] == states)
        let since = try #require(reply["revision"]?.int) - 1
        after.send(
            #"{"op":"subscribe","type":"counter","actions":true,"since":\#(since),"epoch":"\#(next.epoch)"}"#)
        let told = try after.all().filter { $0["event"] == "action" }.map { $0["traceparent"]?.string }
        #expect(told == Array(repeating: Self.trace, count: 4) + [nil])
    }

    /// Those of one turn that are alike share an entry.
    @Test(arguments: [2, 3, 50]) func alikeOnesAreReplayed(count: Int) throws {
        let before = try bus()
        let client = before.connect()
        client.send(Array(repeating: Self.traced(), count: count).joined(separator: "\n"))
        let revisions = try client.all().map { try #require($0["revision"]?.int) }
        #expect(revisions.count == count)
        if BusMode.current == .alone {
            #expect(before.written!.lines.last?.contains(#""times":\#(count),"#) == true)
        }
        let past = #"{"op":"get","store":"counter/a","revision":\#(revisions[1])}"#
        #expect(try client.reply(to: past)["states"]?["counter/a"]?["count"] == 2)
        #expect(try before.isWhatTheLogSays())
        let next = try before.crash()
        #expect(try next.connect().state(of: "counter/a")?["count"] == .int(count))
    }

    /// Also of a commit of which the log keeps a part.
    @Test func itIsKeptWithWhatIsKept() throws {
        let bus = try LogPolicyTests.bus()
        let client = bus.connect()
        let all = #"{"op":"dispatch","type":"*","action":"increment","traceparent":"\#(Self.trace)"}"#
        for key in ["", #","key":"k""#] {
            let revision = try client.revision(after: all.dropLast() + key + "}")
            let commits = try client.reply(to: #"{"op":"history","since":\#(revision - 1)}"#)["commits"]
            #expect(commits?[0]?["traceparent"]?.string == Self.trace)
        }
    }

    /// Whoever sends a request again may do so in another span.
    @Test func itIsNoPartOfWhatAKeyMeans() throws {
        let client = try bus().connect()
        let first = try client.reply(to: Self.traced(#","key":"k""#))
        let other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00"
        for again in [Self.traced(#","key":"k""#, by: other), Self.increment(#","key":"k""#)] {
            let reply = try client.reply(to: again)
            #expect(reply["revision"] == first["revision"] && reply["duplicate"] == true, "\(reply)")
        }
    }

    @Test(arguments: [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", trace + "-", trace.uppercased(),
        "01" + trace.dropFirst(2), "00-" + String(repeating: "0", count: 32) + "-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b-01",
    ])
    func whatIsNoneIsRefused(_ text: String) throws {
        let client = try bus(nil).connect()
        let error = try client.reply(to: Self.traced(by: text))["error"]
        #expect(error?["code"] == "invalid_request" && error?["member"] == "traceparent", "\(error ?? .null)")
    }

    @Test func oneThatComesLaterHasNone() throws {
        let client = try bus(nil).connect()
        let error = try client.reply(to: Self.traced(#","in":"1h""#))["error"]
        #expect(error?["member"] == "traceparent", "\(error ?? .null)")
    }
}
