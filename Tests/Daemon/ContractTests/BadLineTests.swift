import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 10: no bytes from a client can disturb the bus, and after every bad line the connection goes on.
@Suite(.inBothModes) struct BadLineTests {
    /// What is wrong, and how it is answered.
    static let lines: [(line: String, code: String)] = [
        ("{", "parse_error"), ("}", "parse_error"), ("nonsense", "parse_error"),
        (#"{"op":"ping""#, "parse_error"),
        (#"{"op":"ping"} {"op":"ping"}"#, "parse_error"), (#"{'op':'ping'}"#, "parse_error"),
        (#"{"op":"ping",}"#, "parse_error"), (#"{"id":01,"op":"ping"}"#, "parse_error"),
        (#"{"id":NaN,"op":"ping"}"#, "parse_error"), (#"{"id":+1,"op":"ping"}"#, "parse_error"),
        (#"{"id":"\ud800","op":"ping"}"#, "parse_error"), (#"{"id":"\x","op":"ping"}"#, "parse_error"),
        ("{\"id\":\"\u{1}\",\"op\":\"ping\"}", "parse_error"), (#"{"op":"ping","op":"ping"}"#, "parse_error"),
        (
            #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":1,"by":1}}"#,
            "parse_error"
        ),
        (#"{"id":9223372036854775808,"op":"ping"}"#, "parse_error"),
        (#"{"id":1e999,"op":"ping"}"#, "parse_error"),
        ("[]", "invalid_request"), ("5", "invalid_request"), ("null", "invalid_request"),
        (#""ping""#, "invalid_request"),
        (String(repeating: "[", count: 65), "too_large"),
        (String(repeating: #"{"a":"#, count: 65), "too_large"),
        (#"{"op":"ping","#, "parse_error"),
        ("{}", "invalid_request"), (#"{"op":5}"#, "invalid_request"), (#"{"op":null}"#, "invalid_request"),
        (#"{"op":"ping","id":true}"#, "invalid_request"), (#"{"op":"ping","id":null}"#, "invalid_request"),
        (#"{"op":"ping","colour":1}"#, "invalid_request"),
        (#"{"op":"ping","store":"counter/a"}"#, "invalid_request"),
        (#"{"op":""}"#, "unknown_op"), (#"{"op":"Ping"}"#, "unknown_op"),
        (#"{"op":"dispatch"}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter"}"#, "invalid_request"),
        (#"{"op":"dispatch","action":"increment"}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":5}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":"increment","payload":[]}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":"increment","payload":null}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":"increment","ack":1}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":"increment","dryRun":"no"}"#, "invalid_request"),
        (#"{"op":"dispatch","type":"counter","action":"increment","ifRevision":1}"#, "invalid_request"),
        (#"{"op":"dispatch","actions":[]}"#, "invalid_request"),
        (#"{"op":"dispatch","actions":{}}"#, "invalid_request"),
        (#"{"op":"dispatch","actions":[{"type":"counter"}]}"#, "invalid_request"),
        (#"{"op":"dispatch","actions":[{"type":"counter","action":"reset","x":1}]}"#, "invalid_request"),
        (
            #"{"op":"dispatch","actions":[{"type":"counter","action":"reset"}],"type":"counter"}"#,
            "invalid_request"
        ),
        (#"{"op":"dispatch","store":"counter/","action":"reset"}"#, "invalid_request"),
        (#"{"op":"dispatch","store":"/a","action":"reset"}"#, "invalid_request"),
        (#"{"op":"dispatch","store":"counter/a/b","action":"reset"}"#, "invalid_request"),
        (#"{"op":"dispatch","store":"Counter/a","action":"reset"}"#, "invalid_request"),
        (#"{"op":"dispatch","store":"counter/-a","action":"reset"}"#, "invalid_request"),
        (#"{"op":"dispatch","store":"counter/*","action":"reset"}"#, "invalid_request"),
        (#"{"op":"create"}"#, "invalid_request"),
        (#"{"op":"create","store":"counter/b","state":[]}"#, "invalid_request"),
        (#"{"op":"create","store":"nothing/b"}"#, "unknown_type"),
        (#"{"op":"drop"}"#, "invalid_request"), (#"{"op":"drop","store":"counter/b"}"#, "unknown_store"),
        (#"{"op":"get"}"#, "invalid_request"), (#"{"op":"get","match":"a/b/c"}"#, "invalid_request"),
        (#"{"op":"get","match":"counter"}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","match":"*/*"}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","limit":0}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","limit":1.5}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","after":"x"}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","select":"/count"}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","select":["count"]}"#, "invalid_request"),
        (#"{"op":"get","type":"counter","select":["/~2"]}"#, "invalid_request"),
        (#"{"op":"subscribe"}"#, "invalid_request"),
        (#"{"op":"subscribe","type":"counter","format":"xml"}"#, "invalid_request"),
        (#"{"op":"subscribe","type":"counter","since":-1,"epoch":"e"}"#, "invalid_request"),
        (#"{"op":"subscribe","type":"counter","epoch":"e"}"#, "invalid_request"),
        (#"{"op":"unsubscribe"}"#, "invalid_request"), (#"{"op":"unsubscribe","sub":0}"#, "invalid_request"),
        (#"{"op":"unsubscribe","sub":1}"#, "invalid_request"),
        (#"{"op":"hello","protocol":2}"#, "invalid_request"),
        (#"{"op":"hello","protocol":"1"}"#, "invalid_request"),
        (#"{"op":"hello","client":5}"#, "invalid_request"),
    ]

    @Test(
        arguments: lines) func aBadLineLeavesTheConnectionUsable(_ line: String, _ code: String) throws
    {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let lines = try client.ask(line)
        #expect(lines.count == 1)
        #expect(lines.first?["error"]?["code"]?.string == code, "\(lines)")
        #expect(lines.first?["error"]?["message"]?.string?.isEmpty == false)
        #expect(try client.isUsable())
        #expect(bus.engine.revision == 1)
    }

    /// Bytes that are no UTF-8, in and outside of strings.
    @Test(
        arguments: [
            [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0],
        ] as [[UInt8]])
    func bytesThatAreNoTextAreRefused(_ bytes: [UInt8]) throws {
        let client = try MemoryBus().connect()
        client.send(bytes: Array(#"{"op":"ping","id":""#.utf8) + bytes + Array("\"}\n".utf8))
        client.send(bytes: bytes + [10])
        let lines = try client.all()
        #expect(lines.map { $0["error"]?["code"] } == ["parse_error", "parse_error"])
        #expect(try client.isUsable())
    }

    /// Unknown members are named, malformed ones too.
    @Test(arguments: [
        (#"{"op":"ping","colour":1}"#, "colour"), (#"{"op":"get","store":5}"#, "store"),
        (#"{"op":"subscribe","type":"counter","cause":1}"#, "cause"),
        (#"{"op":"unsubscribe","sub":7}"#, "sub"),
        (#"{"op":"get","match":"x"}"#, "match"), (#"{"op":"sync","type":"counter"}"#, "type"),
    ])
    func offendingMemberIsNamed(_ line: String, _ member: String) throws {
        let error = try #require(try MemoryBus().connect().reply(to: line)["error"])
        #expect(error["member"] == .string(member))
    }

    @Test func emptyLinesAndCarriageReturnsAreFine() throws {
        let client = try MemoryBus().connect()
        client.send(bytes: Array("\n\r\n\n{\"op\":\"ping\",\"id\":1}\r\n\n".utf8))
        #expect(try client.all().map { [$0["id"], $0["ok"]] } == [[1, true]])
    }

    @Test func requestsMayArriveByteByByte() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        for byte in #"{"op":"dispatch","type":"counter","action":"increment"}"#.utf8 + [10] {
            client.send(bytes: [byte])
        }
        #expect(try client.all().first?["revision"] == 2)
    }

    /// Random bytes, and requests with random damage: every line is answered once, and the bus stays whole.
    @Test(arguments: 0..<8) func garbageIsAnsweredLineByLine(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        for _ in 0..<2000 {
            var line = Array(Self.lines.randomElement(using: &random)!.line.utf8)
            for _ in 0..<Int.random(in: 0..<4, using: &random) where !line.isEmpty {
                let place = line.indices.randomElement(using: &random)!
                if random.oneIn(3) {
                    line.remove(at: place)
                } else {
                    line[place] = UInt8.random(in: 0...255, using: &random)
                }
            }
            line.removeAll { $0 == 10 || $0 == 13 }
            if line.isEmpty { continue }
            client.send(bytes: line + [10])
            let lines = try client.all()
            try #require(
                lines.contains { $0["ok"] != nil } || String(decoding: line, as: UTF8.self).contains("ack"))
        }
        try client.ask(#"{"op":"will","actions":[]}"#)
        #expect(try bus.connect().isUsable())
    }

    /// An `id` that no reply has room for is refused in its turn: behind what was asked before.
    @Test func anIDThatLeavesNoRoomIsRefusedInTurn() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let id = String(repeating: "x", count: (1 << 20) - 600)
        client.queue(#"{"op":"dispatch","store":"counter/a","action":"increment","id":1}"#)
        client.send(#"{"op":"ping","id":"\#(id)"}"#)
        let replies = try client.all()
        #expect(replies.map { $0["id"] } == [1, nil])
        #expect(replies.map { $0["error"]?["code"] } == [nil, "too_large"])
    }
}
