import BusServer
import Dispatch
import Foundation
import Logging
import TestServer
import Testing

/// Connections over real sockets: how they begin, go on and end.
struct ConnectionTests {
    private static let pong = #"{"ok":true}"#
    private static let ping = #"{"op":"ping"}"#

    @Test func aRequestIsAnswered() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"ping","id":7}"#) == #"{"id":7,"ok":true}"#)
        #expect(try client.ask(#"{"op":"hello"}"#).contains("\"uid\":\(getuid())"))
    }

    @Test func severalBusesLiveInOneProcess() throws {
        let first = try LiveBus()
        let second = try LiveBus()
        _ = try first.client().ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        let states = #""states":{"counter/main":{"count":0,"note":""}}"#
        #expect(try second.client().ask(#"{"op":"get","type":"counter"}"#).contains(states))
    }

    @Test func requestsArriveByteByByte() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        for byte in #"{"op":"ping","id":"é"}"#.utf8 + [10] {
            var byte = byte
            #expect(send(client.descriptor, &byte, 1, 0) == 1)
        }
        #expect(try client.line() == #"{"id":"é","ok":true}"#)
    }

    @Test func repliesAreReadByteByByte() throws {
        let bus = try LiveBus(limits: ["outbox=4096"])
        let client = try bus.client()
        // Far more than the socket holds, so the daemon writes in parts and goes on when there is room.
        let text = String(repeating: "x", count: 3000)
        try client.send(
            bytes:
                #"{"op":"dispatch","type":"counter","action":"write","payload":{"text":"\#(text)"},"ack":false}"#
                + "\n")
        let requests = 500
        let sender = DispatchQueue(label: "sender")
        nonisolated(unsafe) let sending = client
        sender.async {
            for id in 0..<requests {
                try? sending.send(#"{"op":"get","store":"counter/main","id":\#(id)}"#)
            }
        }
        for id in 0..<requests {
            if id < 3 { for _ in 0..<100 { _ = try client.read(1) } }
            let reply = try #require(try client.line())
            #expect(reply.hasPrefix("{\"id\":\(id),\"ok\":true"))
            #expect(reply.contains(text))
        }
        sender.sync {}
    }

    @Test func aHalfClosedClientGetsItsReplies() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        try client.send(bytes: "\(Self.ping)\n\(Self.ping)\n{\"op\":\"pi")
        client.finishSending()
        // The unterminated line is discarded, and the connection ends.
        #expect(try client.rest() == [Self.pong, Self.pong])
    }

    @Test func whatWaitsForAHalfClosedClientIsStillWritten() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        let text = String(repeating: "x", count: 400_000)
        _ = try client.ask(
            #"{"op":"dispatch","type":"counter","action":"write","payload":{"text":"\#(text)"}}"#)
        // More than its socket holds, so most of it waits when the end of its input is seen.
        try client.send(bytes: String(repeating: #"{"op":"get","store":"counter/main"}"# + "\n", count: 3))
        client.finishSending()
        _ = try bus.client().ask(Self.ping)
        let replies = try client.rest()
        #expect(replies.count == 3)
        #expect(replies.allSatisfy { $0.contains(text) })
    }

    @Test func whatABlockedClientSentBeforeItVanishedCounts() throws {
        let bus = try LiveBus(limits: ["outbox=4096"])
        let watcher = try bus.client()
        _ = try watcher.ask(#"{"op":"subscribe","store":"counter/main","initial":false}"#)
        let client = try bus.client()
        let text = String(repeating: "x", count: 3000)
        _ = try client.ask(
            #"{"op":"dispatch","type":"counter","action":"write","payload":{"text":"\#(text)"}}"#)
        // Far more replies than its socket holds; what it asks for after them waits.
        try client.send(bytes: String(repeating: #"{"op":"get","store":"counter/main"}"# + "\n", count: 300))
        let requests = 1000
        try client.send(
            bytes:
                String(
                    repeating: #"{"op":"dispatch","type":"counter","action":"increment"}"# + "\n",
                    count: requests
                ))
        _ = try bus.client().ask(Self.ping)
        client.close()
        var last = ""
        while !last.contains("\"count\":\(requests)") { last = try #require(try watcher.line()) }
    }

    /// So does what stands behind a request that waits for the log when its client has gone.
    @Test func whatWaitsForTheLogWhenItsClientVanishesCounts() throws {
        var setup = LiveBus.Setup()
        setup.hasLog = true
        let bus = try LiveBus(setup)
        let watcher = try bus.client()
        _ = try watcher.ask(#"{"op":"subscribe","store":"counter/main","initial":false}"#)
        for round in 1...5 {
            let client = try bus.client()
            try client.send(
                bytes: #"{"op":"revert","store":"counter/main","revision":1}"# + "\n"
                    + #"{"op":"dispatch","store":"counter/main","action":"increment","payload":{"by":\#(round)}}"#
                    + "\n")
            client.close()
            var last = ""
            while !last.contains(#""count":\#(round)"#) { last = try #require(try watcher.line()) }
        }
    }

    /// More waits for it than its socket takes, and it goes without having read any of it.
    @Test func whoNeverReadsAndGoesIsLetGo() throws {
        let bus = try LiveBus()
        let stuck = try bus.client()
        _ = try stuck.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        let client = try bus.client()
        let text = String(repeating: "x", count: 2000)
        for _ in 0..<2000 {
            _ = try client.ask(
                #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"\#(text)"}}"#)
        }
        stuck.close()
        var stats = ""
        let end = ContinuousClock.now + .seconds(60)
        repeat {
            stats = try client.ask(#"{"op":"stats"}"#)
            if LineClient.integer("connections", in: stats) == 1,
                LineClient.integer("outboxBytes", in: stats) == 0
            {
                break
            }
        } while .now < end
        #expect(LineClient.integer("connections", in: stats) == 1)
        #expect(LineClient.integer("outboxBytes", in: stats) == 0)
    }

    /// A client whose will adds 7, and one that hears of it.
    private func clientWithWill(on bus: LiveBus) throws -> (client: LineClient, watcher: LineClient) {
        let watcher = try bus.client()
        _ = try watcher.ask(#"{"op":"subscribe","store":"counter/main","initial":false}"#)
        let client = try bus.client()
        _ = try client.ask(
            #"{"op":"will","actions":[{"store":"counter/main","action":"increment","payload":{"by":7}}]}"#)
        return (client, watcher)
    }

    /// It reads no more, but sends: what comes counts, also long after a reply found nobody, and so does its end.
    @Test func whoReadsNoMoreIsHeardToTheEnd() throws {
        let bus = try LiveBus()
        let (client, watcher) = try clientWithWill(on: bus)
        shutdown(client.descriptor, Int32(SHUT_RD))
        for count in 1...5 {
            try client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
            #expect(try #require(try watcher.line()).contains(#""counter/main":{"count":\#(count)}"#))
        }
        client.close()
        #expect(try #require(try watcher.line()).contains(#""counter/main":{"count":12}"#))
    }

    @Test func aWillRunsWhenTheClientVanishes() throws {
        let bus = try LiveBus()
        let (client, watcher) = try clientWithWill(on: bus)
        client.close()
        #expect(try #require(try watcher.line()).contains(#""counter/main":{"count":7}"#))
    }

    @Test func aClientThatDoesNotReadCostsOthersNothing() throws {
        let bus = try LiveBus(limits: ["outbox=64KiB"])
        let stuck = try bus.client()
        _ = try stuck.ask(#"{"op":"subscribe","store":"counter/main","initial":false}"#)
        let client = try bus.client()
        let text = String(repeating: "x", count: 2000)
        for number in 0..<2000 {
            let reply = try client.ask(
                #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"\#(number)\#(text)"}}"#
            )
            #expect(reply.contains("\"ok\":true"))
        }
        // It reads at last, and gets the truth.
        var last = ""
        while !last.contains("1999xxx") { last = try #require(try stuck.line()) }
    }

    @Test func everybodyIsToldGoodbyeWhenTheDaemonStops() throws {
        let bus = try LiveBus()
        let clients = try (0..<20).map { _ in try bus.client() }
        for client in clients { _ = try client.ask(Self.ping) }
        bus.stop()
        for client in clients {
            let lines = try client.rest()
            #expect(lines.count == 1)
            #expect(lines[0].hasPrefix(#"{"event":"goodbye","code":"shutdown","message":""#))
        }
        #expect(throws: LineClient.Failure.self) { try bus.client() }
    }

    @Test func aClientThatDoesNotTakeItsGoodbyeIsNotWaitedForLong() throws {
        var timeouts = Timeouts()
        timeouts.goodbye = 50
        let bus = try LiveBus(timeouts: timeouts)
        let client = try bus.client()
        // Its socket is full and stays so.
        let text = String(repeating: "x", count: 60_000)
        _ = try client.ask(
            #"{"op":"dispatch","type":"counter","action":"write","payload":{"text":"\#(text)"}}"#)
        try client.send(bytes: String(repeating: #"{"op":"get","store":"counter/main"}"# + "\n", count: 100))
        _ = try bus.client().ask(Self.ping)
        bus.stop()
        #expect(throws: LineClient.Failure.self) { try bus.client() }
    }

    @Test func oneConnectionTooManyIsToldSo() throws {
        let bus = try LiveBus(limits: ["connections=3"])
        let clients = try (0..<3).map { _ in try bus.client() }
        for client in clients { _ = try client.ask(Self.ping) }
        let refused = try bus.client().rest()
        #expect(refused.count == 1)
        #expect(refused[0].hasPrefix(#"{"event":"goodbye","code":"limit","message":""#))
        // When one goes there is room for another; its end has been seen once the newcomer is served.
        clients[0].finishSending()
        #expect(try clients[0].rest().isEmpty)
        #expect(try bus.client().ask(Self.ping) == Self.pong)
    }

    @Test func tcpNeedsHelloWithAToken() throws {
        let bus = try LiveBus(listen: ["tcp:127.0.0.1:0"], tokens: "phone s3cret-of-the-phone")
        let client = try LineClient(bus.addresses[1])
        let hello = try client.ask(#"{"op":"hello","token":"s3cret-of-the-phone"}"#)
        #expect(hello.contains(#""token":"phone""#) && hello.contains(#""address":"127.0.0.1:"#), "\(hello)")
        #expect(try client.ask(Self.ping) == Self.pong)

        for first in [Self.ping, #"{"op":"hello","token":"wrong"}"#, #"{"op":"hello"}"#] {
            let stranger = try LineClient(bus.addresses[1])
            try stranger.send(bytes: first + "\n" + Self.ping + "\n")
            let lines = try stranger.rest()
            #expect(lines.first?.contains(#""code":"unauthorized""#) == true, "\(first) gave \(lines)")
            #expect(!lines.contains(Self.pong))
        }
    }

    @Test func aTCPClientThatSaysNothingIsSentAway() throws {
        var timeouts = Timeouts()
        // Long enough for one who says it at once, also on a busy machine.
        timeouts.hello = 2000
        let bus = try LiveBus(
            listen: ["tcp:127.0.0.1:0"], tokens: "phone s3cret-of-the-phone", timeouts: timeouts)
        let known = try LineClient(bus.addresses[1])
        #expect(try known.ask(#"{"op":"hello","token":"s3cret-of-the-phone"}"#).contains("\"ok\":true"))
        let silent = try LineClient(bus.addresses[1])
        let lines = try silent.rest()
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#""code":"protocol""#) == true)
        #expect(try known.ask(Self.ping) == Self.pong)
    }
}
