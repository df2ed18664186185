import BusJSON
import Foundation
import TestServer
import Testing

/// Readers that never read, beside one that does: they cost the others nothing and the daemon bounded memory.
struct StuckReaderTests {
    @Test func readersThatNeverReadCostTheOthersNothing() throws {
        let bus = try DaemonBus()
        let daemon = try bus.start()
        let dispatcher = try bus.client()
        let reader = try bus.client()
        let subscribe = #"{"op":"subscribe","type":"counter"}"#
        _ = try reader.ask(subscribe)
        _ = try reader.line()
        let stuck = try (0..<50).map { _ in
            let client = try bus.client()
            _ = try client.ask(subscribe)
            return client
        }
        let before = try residentBytes(of: daemon)

        let (commits, burst) = (20_000, 50)
        var last = ""
        var revision = 1
        for first in stride(from: 0, to: commits, by: burst) {
            var requests = ""
            for number in first..<first + burst {
                last = String(repeating: "\(number % 10)", count: 2000) + "\(number)"
                requests +=
                    #"{"op":"dispatch","type":"counter","action":"write","payload":{"text":"\#(last)"}}"#
                    + "\n"
            }
            try dispatcher.send(bytes: requests)
            for _ in 0..<burst {
                let reply = try #require(try dispatcher.line())
                #expect(reply.contains(#""changed":1"#))
                let event = try #require(try reader.line())
                // Every change, each by itself.
                guard event.contains(#""from":\#(revision),"revision":\#(revision + 1),"#) else {
                    Issue.record("After revision \(revision) came \(event.prefix(80))")
                    return
                }
                revision += 1
            }
        }
        let growth = try residentBytes(of: daemon) - before
        #expect(growth < stuck.count * 5 << 20, "grew by \(growth / stuck.count) bytes per stuck reader")

        // One that wakes up gets the truth, with what it missed merged.
        let sleeper = try #require(stuck.first)
        var coalesced = 0
        var state = JSON.null
        while true {
            let event = try JSON(parsing: try #require(try sleeper.line()))
            if let whole = event["states"]?["counter/main"] {
                state = whole
            } else {
                let change = try #require(event["changes"]?["counter/main"])
                state = MergePatch.apply(change, to: state)
            }
            coalesced += event["coalesced"]?.int ?? 0
            if event["revision"]?.int == revision { break }
        }
        #expect(coalesced > commits / 2)
        #expect(state["note"]?.string == last)
    }

    /// What the daemon holds in memory. What a sanitizer keeps in books about that lies where no program has anything, and is
    /// not counted: a multiple of what is measured, given back now and then.
    private func residentBytes(of daemon: RunningProgram) throws -> Int {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(daemon.process)/smaps"))
        let mappings = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        let books = UInt(0x0080_0000_0000)..<0x5500_0000_0000
        var (isCounted, bytes) = (false, 0)
        for line in mappings.split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            if let start = words.first?.split(separator: "-").first, !start.hasSuffix(":"),
                let address = UInt(start, radix: 16)
            {
                isCounted = !books.contains(address)
            } else if isCounted, words.first == "Rss:" {
                bytes += try #require(words.dropFirst().first.flatMap { Int($0) }) << 10
            }
        }
        return try #require(bytes > 0 ? bytes : nil, "No mapping was found.")
    }
}
