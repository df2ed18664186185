import Foundation
import Logging
import TestServer
import Testing

/// TCP clients before their hello, and who gets in when connections are scarce.
@Suite(.timeLimit(.minutes(10))) struct StrangerTests {
    private static let token = "0123456789abcdef"
    private static let hello = hello("0")
    /// Of the phone ("0"), the lamp ("1") or the door ("2").
    private static func hello(_ user: String) -> String {
        #"{"op":"hello","token":"\#(user)123456789abcdef"}"#
    }
    private static let ping = #"{"op":"ping"}"#
    private static let pong = #"{"ok":true}"#

    private func bus(limits: [String] = [], _ log: NoteLog = NoteLog()) throws -> LiveBus {
        try LiveBus(
            listen: ["tcp:127.0.0.1:0"], limits: limits,
            tokens: "phone \(Self.token)\nlamp 1123456789abcdef\ndoor 2123456789abcdef",
            logger: Logger(label: "test") { _ in log.handler })
    }

    private func expectRefusal(_ lines: [String]) {
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.contains(#""ok":false,"error":{"code":"unauthorized""#) == true, "\(lines)")
        #expect(
            lines.last?.hasPrefix(#"{"event":"goodbye","code":"protocol","message":""#) == true, "\(lines)")
    }

    @Test func silentClientsKeepNobodyOut() throws {
        let bus = try bus()
        let silent = try (0..<70).map { _ in try LineClient(bus.addresses[1]) }
        // An empty line says nothing either.
        for client in silent[..<35] { try client.send(bytes: "\r\n") }
        let known = try LineClient(bus.addresses[1])
        #expect(try known.ask(Self.hello).contains(#""ok":true"#))
        #expect(try known.ask(Self.ping) == Self.pong)
        // One more came than may wait for each of these, and those that had been silent for longest went.
        for client in silent[..<6] {
            let lines = try client.rest()
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix(#"{"event":"goodbye","code":"limit","message":""#) == true)
        }
        #expect(try silent[69].ask(Self.hello).contains(#""ok":true"#))
    }

    @Test func aFirstLineIsShort() throws {
        let bus = try bus()
        let long = try LineClient(bus.addresses[1])
        // Its end never comes, and it is answered all the same.
        try long.send(bytes: #"{"op":"hello","client":""# + String(repeating: "x", count: 8192))
        expectRefusal(try long.rest())
        // The longest token, in the longest form, leaves room for a name.
        let escaped = Self.token.utf8.map { String(format: "\\u%04x", $0) }.joined()
        let wordy = try LineClient(bus.addresses[1])
        let name = String(repeating: "n", count: 7900)
        #expect(
            try wordy.ask(#"{"op":"hello","client":"\#(name)","token":"\#(escaped)"}"#).contains(
                #""ok":true"#))
        // Once it is known, lines are as long as anybody's.
        #expect(
            try wordy.ask(#"{"op":"ping","id":"\#(String(repeating: "x", count: 100_000))"}"#).count > 100_000
        )
    }

    @Test func aHelloMayComeInAnyPieces() throws {
        let bus = try bus()
        let client = try LineClient(bus.addresses[1])
        let ready = try LineClient(bus.addresses[1])
        for byte in "\r\n\n\(Self.hello)\r".utf8 {
            try client.send(bytes: String(UnicodeScalar(byte)))
            // Somebody else is answered in between, so the byte has been read.
            if byte == UInt8(ascii: "{") { _ = try ready.ask(Self.hello) }
        }
        try client.send(bytes: "\n\(Self.ping)\n\(Self.ping)\n")
        #expect(try client.line()?.contains(#""ok":true,"protocol":1"#) == true)
        #expect(try [client.line(), client.line()] == [Self.pong, Self.pong])
        // More empty lines than a first line may be long.
        let patient = try LineClient(bus.addresses[1])
        try patient.send(bytes: String(repeating: "\n", count: 20_000))
        #expect(try patient.ask(Self.hello).contains(#""ok":true"#))
    }

    @Test func wrongTokensAreNotedAndSlowed() throws {
        let log = NoteLog()
        let bus = try bus(log)
        let start = ContinuousClock.now
        for count in 1...4 {
            let guesser = try LineClient(bus.addresses[1])
            try guesser.send(#"{"op":"hello","token":"wrong-token-number-\#(count)"}"#)
            expectRefusal(try guesser.rest())
        }
        // The first is answered at once, the others after 100, 200 and 400 milliseconds.
        #expect(start.duration(to: .now) >= .milliseconds(700))
        let noted = log.notes.filter { $0.metadata["message-id"]?.description == Self.refusedKind }
        #expect(noted.count == 4)
        #expect(noted.allSatisfy { $0.metadata["address"]?.description.hasPrefix("127.0.0.1:") == true })
        #expect(!log.notes.contains { "\($0)".contains("wrong-token") })
        // Whoever knows the token gets in, if late.
        let known = try LineClient(bus.addresses[1])
        #expect(try known.ask(Self.hello).contains(#""ok":true"#))
    }

    /// As in the message catalog.
    private static let refusedKind = "fc6f66f3b4f649b1b20a786420ce3382"

    @Test func notesAboutGuessesAreFew() throws {
        let log = NoteLog()
        let bus = try bus(log)
        // All at once, so that they wait at the same time.
        let guessers = try (0..<20).map { number in
            let guesser = try LineClient(bus.addresses[1])
            try guesser.send(#"{"op":"hello","token":"wrong-token-number-\#(number)"}"#)
            return guesser
        }
        for guesser in guessers { expectRefusal(try guesser.rest()) }
        bus.stop()
        #expect(log.notes.count { $0.metadata["message-id"]?.description == Self.refusedKind } == 10)
        #expect(log.notes.contains { $0.message.contains("10 messages about 127.0.0.1 were dropped") })
    }

    @Test func whoGoesBeforeItIsAnsweredIsForgotten() throws {
        let bus = try bus()
        for count in 0..<200 {
            let client = try LineClient(bus.addresses[1])
            if count % 2 == 0 { try client.send(#"{"op":"hello","token":"wrong-token-of-nobody"}"#) }
            if count % 3 == 0 { try client.send(bytes: "{") }
            client.close()
        }
        let known = try LineClient(bus.addresses[1])
        #expect(try known.ask(Self.hello).contains(#""ok":true"#))
    }

    @Test func aStrangerHearsThatTheBusStops() throws {
        let bus = try bus()
        let silent = try LineClient(bus.addresses[1])
        let known = try LineClient(bus.addresses[1])
        _ = try known.ask(Self.hello)
        bus.stop()
        #expect(try silent.rest().map { $0.contains(#""code":"shutdown""#) } == [true])
    }

    @Test func anOperatorGetsInWhenOthersHaveTakenAll() throws {
        let bus = try bus(limits: ["connections=16"])
        let others = try (0..<14).map { _ in try LineClient(bus.addresses[1]) }
        // Each user has half of what the others have left.
        for (user, part) in [("0", others[..<8]), ("1", others[8..<12]), ("2", others[12...])] {
            for other in part { #expect(try other.ask(Self.hello(user)).contains(#""ok":true"#)) }
        }
        let refused = try LineClient(bus.addresses[1]).rest()
        #expect(refused.count == 1)
        #expect(refused.first?.hasPrefix(#"{"event":"goodbye","code":"limit","message":""#) == true)
        // The tests run as the daemon's own user.
        let operators = try (0..<2).map { _ in try bus.client() }
        for client in operators { #expect(try client.ask(Self.ping) == Self.pong) }
        #expect(try bus.client().rest().first?.contains(#""code":"limit""#) == true)
        // The reserve stays one while they are in.
        others[0].finishSending()
        #expect(try others[0].rest().isEmpty)
        #expect(try LineClient(bus.addresses[1]).rest().first?.contains(#""code":"limit""#) == true)
        #expect(try bus.client().ask(Self.ping) == Self.pong)
        // All were there until now.
        for client in operators + others[1...] { #expect(try client.ask(Self.ping) == Self.pong) }
    }
}
