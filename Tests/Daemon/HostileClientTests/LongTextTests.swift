import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Texts of a megabyte where a short one belongs: they are refused for their length, in a short sentence, and cost no more than
/// any line as long.
@Suite(.inBothModes) struct LongTextTests {
    /// What reading any line of this length takes, with room for a reply.
    private static func bound(_ bus: SlowBus, _ length: Int) throws -> Int {
        let id = String(repeating: "7", count: length)
        return try 2 * work(bus, #"{"op":"ping","id":"\#(id)"}"#).work + 200_000
    }

    private static func work(_ bus: SlowBus, _ line: String) throws -> (work: Int, reply: JSON?) {
        // The gate is open to whatever is long.
        bus.turn(after: 60_000)
        let client = bus.connect()
        let before = bus.engine.totalWork
        bus.send(line, from: client)
        bus.engine.serveAll()
        let work = bus.engine.totalWork - before
        let reply = try bus.lines(of: client).last
        bus.engine.disconnect(client)
        return (work, reply)
    }

    /// Requests with a length of time in the place of `~`.
    private static let durations = [
        #"{"op":"dispatch","store":"counter/a","action":"increment","in":~}"#,
        #"{"op":"create","store":"counter/b","ttl":~}"#,
        #"{"op":"hello","session":"s","linger":~}"#,
    ]

    /// 64 bytes are enough for every length of time there is.
    @Test(arguments: durations) func aLengthOfTimeIsShort(_ request: String) throws {
        let bus = try SlowBus()
        _ = try Self.work(bus, #"{"op":"create","store":"counter/a"}"#)
        func reply(_ zeros: Int) throws -> JSON? {
            try Self.work(bus, request.replacing("~", with: "\"\(String(repeating: "0", count: zeros))1s\""))
                .reply
        }
        #expect(try reply(63)?["error"]?["code"] == "invalid_request")
        #expect(try reply(62)?["ok"] == true)
    }

    @Test(arguments: durations + [#"{"op":"get","type":"counter","after":~}"#])
    func aMegabyteOfDigitsIsRefusedForLittle(_ request: String) throws {
        let bus = try SlowBus()
        _ = try Self.work(bus, #"{"op":"create","store":"counter/a"}"#)
        let digits = String(repeating: "7", count: 1_000_000)
        let bound = try Self.bound(bus, digits.utf8.count)
        for value in [digits, "\"\(digits)\"", "\"\(digits)s\"", "\"1.\(digits)s\""] {
            let (work, reply) = try Self.work(bus, request.replacing("~", with: value))
            let error = try #require(reply?["error"])
            #expect(["invalid_request", "too_large", "parse_error"].contains(error["code"]?.string))
            #expect(error["message"]?.string?.utf8.count ?? .max < 1000)
            #expect(work < bound, "\(request) \(value.prefix(3))")
        }
    }

    /// Wherever a name stands that nobody knows, and of which the error says what may have been meant.
    @Test(arguments: [
        #"{"op":"~"}"#, #"{"op":"ping","~":1}"#, #"{"op":"dispatch","type":"~","action":"increment"}"#,
        #"{"op":"dispatch","store":"~","action":"increment"}"#,
        #"{"op":"dispatch","store":"counter/~","action":"increment"}"#,
        #"{"op":"dispatch","store":"counter/a","action":"~"}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"~":1}}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"by":"~"}}"#,
        #"{"op":"dispatch","actions":[{"~":1}]}"#, #"{"op":"create","store":"counter/b","state":{"~":1}}"#,
        #"{"op":"subscribe","type":"counter","format":"~"}"#, #"{"op":"get","match":"~"}"#,
    ])
    func aNameOfAMegabyteIsRefusedInAShortSentence(_ request: String) throws {
        let bus = try SlowBus()
        _ = try Self.work(bus, #"{"op":"create","store":"counter/a"}"#)
        let bound = try Self.bound(bus, 1_000_000)
        for name in ["i", "\u{301}"].map({ String(repeating: $0, count: 1_000_000 / $0.utf8.count) }) {
            let (work, reply) = try Self.work(bus, request.replacing("~", with: name))
            #expect(reply?["ok"] == false)
            #expect(reply?.encoded.utf8.count ?? .max < 3000)
            #expect(work < bound)
        }
    }
}
