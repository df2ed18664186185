import BusEngine
import BusJSON
import BusLogic
import BusProtocol
import TestModes
import TestSupport
import Testing

/// Nothing recurses over what clients send without a bound: the deepest and the longest that each member of each request
/// may be, and may not be, on a thread with little stack. Where something does, the whole program ends here.
@Suite(.inBothModes) struct SmallStackTests {
    /// What stands where something else is wanted: nested as deeply as a line may be and more deeply, and texts that mean as
    /// many steps as they are long.
    private static let values: [String] = {
        func nested(_ open: String, _ close: String, _ levels: Int, _ inmost: String = "1") -> String {
            String(repeating: open, count: levels) + inmost + String(repeating: close, count: levels)
        }
        func text(_ part: String, _ count: Int) -> String { "\"\(String(repeating: part, count: count))\"" }
        let texts = [
            text("/a", 30_000), text("/a", 64), text("/a", 60), text(".", 60_000), text("*", 60_000),
            text("?*", 20_000), text("1", 60_000), text("1s", 20_000), text(" ", 60_000),
            "\"note/\(nested("*?", "", 9000))\"",
        ]
        return texts + texts.map { "[\($0)]" }
            + [60, 61, 62, 63, 200].flatMap { [nested("[", "]", $0), nested(#"{"a":"#, "}", $0)] }
    }()

    /// A client with this uid sees a part of the states.
    private static let guest = 1001
    private static let access = """
        roles: { user: [{ uid: 0 }, { uid: 1000 }], guest: [{ uid: \(guest) }] }
        rules:
          - { role: user, may: all }
          - { role: guest, may: read, match: note/*, select: [/value/a/a, /count] }
        """

    private static func bus() throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.natives = [try DeclaredType(definition: SampleTypes.note)]
        setup.limits.daemon.line = 128 << 10
        setup.access = access
        return try MemoryBus(setup)
    }

    @Test func everyMemberOfEveryRequestHasABound() throws {
        try SmallStack.run {
            let bus = try Self.bus()
            for operation in Operation.allCases {
                let samples = try SampleRequests.all.map { try JSON(parsing: $0) }
                    .filter { $0["op"]?.string == operation.rawValue }
                #expect(!samples.isEmpty, "\(operation) has a sample.")
                for sample in samples {
                    for member in Member.allCases where member != .op && operation.members.contains(member) {
                        try Self.send(member.name, of: sample.object ?? [:], to: bus)
                    }
                }
            }
        }
    }

    /// Each value in the place of a member, one after the other.
    private static func send(_ member: String, of sample: JSONObject, to bus: MemoryBus) throws {
        let client = bus.connect()
        try client.ask(#"{"op":"create","store":"note/a"}"#)
        for value in values {
            var rest = sample
            rest[member] = nil
            let others = rest.members.map { "\(JSON.string($0.key)):\($0.value)" }.joined(separator: ",")
            client.send("{\(others),\"\(member)\":\(value)}")
            _ = try client.all()
        }
        client.close()
        #expect(try bus.connect().ask(#"{"op":"ping"}"#).last?["ok"] == true, "\(member)")
    }

    /// As deep as states and selections may be, in every format, for who sees all and for who sees a part.
    @Test func deepStatesAndPointersReachSubscribers() throws {
        try SmallStack.run {
            let bus = try Self.bus()
            let client = bus.connect()
            try client.ask(#"{"op":"create","store":"note/a"}"#)
            let watchers = try ["merge", "patch", "state"].flatMap { format in
                try ["/value", "/value" + String(repeating: "/a", count: 62)].map { pointer in
                    let watcher = bus.connect(uid: pointer.count > 10 ? Self.guest : 1000)
                    let reply = try watcher.ask(
                        #"{"op":"subscribe","type":"note","select":["\#(pointer)"],"format":"\#(format)","cause":\#(pointer.count <= 10)}"#
                    )
                    #expect(reply.first?["ok"] == true)
                    return watcher
                }
            }
            for depth in [57, 58, 40, 57] {
                let value =
                    String(repeating: #"{"a":"#, count: depth) + "[1]" + String(repeating: "}", count: depth)
                try client.ask(
                    #"{"op":"dispatch","store":"note/a","action":"put","payload":{"value":\#(value)}}"#)
                for watcher in watchers { _ = try watcher.all() }
            }
            #expect(try client.ask(#"{"op":"get","store":"note/a"}"#).last?["ok"] == true)
        }
    }

    @Test func longPointersAreTooLarge() throws {
        let client = try Self.bus().connect()
        for op in ["get", "subscribe"] {
            let deep = try client.ask(
                #"{"op":"\#(op)","match":"*/*","select":["\#(String(repeating: "/a", count: 65))"]}"#)
            #expect(deep.last?["error"]?["code"] == "too_large")
            #expect(deep.last?["error"]?["member"] == "select")
            let long = try client.ask(
                #"{"op":"\#(op)","match":"*/*","select":["/\#(String(repeating: "a", count: 1024))"]}"#)
            #expect(long.last?["error"]?["code"] == "too_large")
            let longest = try client.ask(
                #"{"op":"\#(op)","match":"*/*","select":["/\#(String(repeating: "a", count: 1023))"]}"#)
            #expect(longest.first?["ok"] == true)
        }
    }

    /// Access is looked at before pointers are, or after it: neither recurses over what was sent.
    @Test(arguments: [1000, guest, 4711]) func aPointerOfManySegmentsIsRefused(_ uid: Int) throws {
        try SmallStack.run {
            let client = try Self.bus().connect(uid: uid)
            let pointer = String(repeating: "/a", count: 35_000)
            for op in ["get", "subscribe"] {
                let reply = try client.ask(#"{"op":"\#(op)","match":"*/*","select":["\#(pointer)"]}"#)
                let code = reply.last?["error"]?["code"]?.string
                #expect(code == "too_large" || uid == 4711 && code == "forbidden", "\(code ?? "none")")
                #expect(try client.ask(#"{"op":"ping"}"#).last?["ok"] == true)
            }
        }
    }
}
