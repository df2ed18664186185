import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Who may do what, as the kernel or a token says who somebody is.
@Suite(.inBothModes) struct PermissionTests {
    private let dropOwn = #"{"op":"drop","store":"counter/own"}"#
    private let dropConfigured = #"{"op":"drop","store":"counter/configured"}"#

    private func bus() throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/configured"]
        setup.tokens = ["secret": "panel", "other": "phone"]
        let bus = try MemoryBus(setup)
        try bus.connect(uid: 1000).revision(after: #"{"op":"create","store":"counter/own"}"#)
        return bus
    }

    @Test(arguments: [0, MemoryBus.ownUID]) func operatorsMayEverything(uid: Int) throws {
        let client = try bus().connect(uid: uid)
        #expect(try client.code(of: dropOwn) == nil)
        #expect(try client.code(of: dropConfigured) == nil)
        #expect(try client.code(of: #"{"op":"reload"}"#) == nil)
    }

    @Test func creatorMayDropWhatItCreated() throws {
        let bus = try bus()
        // On another connection: it is the user that counts.
        let client = bus.connect(uid: 1000)
        #expect(try client.code(of: dropConfigured) == "forbidden")
        #expect(try client.code(of: #"{"op":"reload"}"#) == "forbidden")
        #expect(try client.code(of: dropOwn) == nil)
    }

    @Test func strangerMayNot() throws {
        let client = try bus().connect(uid: 1001)
        #expect(try client.code(of: dropOwn) == "forbidden")
        #expect(try client.code(of: dropConfigured) == "forbidden")
        #expect(try client.code(of: #"{"op":"reload"}"#) == "forbidden")
        #expect(try client.increment("counter/own") == 3)
    }

    @Test func tokensAreIdentities() throws {
        let bus = try bus()
        let (panel, phone) = (
            bus.connect(.tcp(address: "10.0.0.1:1")), bus.connect(.tcp(address: "10.0.0.2:2"))
        )
        #expect(
            try panel.reply(to: #"{"op":"hello","token":"secret"}"#)["identity"]
                == ["token": "panel", "address": "10.0.0.1:1"])
        try phone.reply(to: #"{"op":"hello","token":"other"}"#)
        try panel.revision(after: #"{"op":"create","store":"counter/panel"}"#)
        #expect(try phone.code(of: #"{"op":"drop","store":"counter/panel"}"#) == "forbidden")
        #expect(try panel.code(of: #"{"op":"drop","store":"counter/panel"}"#) == nil)
        #expect(try panel.code(of: #"{"op":"reload"}"#) == "forbidden")
    }

    /// A reload ends who came with a token that is not in the file any more, or has been replaced, and nobody else.
    @Test(arguments: [[:], ["new": "panel"]]) func tokenThatIsTakenAwayEndsItsConnections(
        instead: [String: String]
    ) throws {
        let bus = try bus()
        let (panel, phone) = (
            bus.connect(.tcp(address: "10.0.0.1:1")), bus.connect(.tcp(address: "10.0.0.2:2"))
        )
        try panel.reply(to: #"{"op":"hello","token":"secret","session":"hall","linger":60}"#)
        try panel.revision(after: #"{"op":"create","store":"counter/panel","ephemeral":true}"#)
        try phone.reply(to: #"{"op":"hello","token":"other"}"#)
        bus.tokens.names = instead.merging(["other": "phone"]) { $1 }
        try bus.connect(uid: 0).reply(to: #"{"op":"reload"}"#)
        #expect(try panel.all().last?["code"] == "kicked")
        #expect(panel.isEnded)
        #expect(try phone.code(of: #"{"op":"ping"}"#) == nil)
    }

    /// What it left waits for it only where it can come back.
    @Test(
        .aloneOnly(because: "Members have tokens of their own: the client may come back at another one."),
        arguments: [true, false], [true, false])
    func sessionOfATokenThatIsTakenAwayEnds(isReplaced: Bool, isGone: Bool) throws {
        let bus = try bus()
        let hello = #"{"op":"hello","token":"secret","session":"hall","linger":60}"#
        let panel = bus.connect(.tcp(address: "10.0.0.1:1"))
        try panel.reply(to: hello)
        try panel.revision(after: #"{"op":"create","store":"counter/panel","ephemeral":true}"#)
        if isGone { panel.close() }
        bus.tokens.names = isReplaced ? ["new": "panel"] : [:]
        let root = bus.connect(uid: 0)
        try root.reply(to: #"{"op":"reload"}"#)
        #expect(panel.isEnded)
        let found = try root.code(of: #"{"op":"get","store":"counter/panel"}"#)
        #expect(found == (isReplaced ? nil : "unknown_store"))
        let again = bus.connect(.tcp(address: "10.0.0.1:2"))
        let reply = try again.reply(to: hello.replacing("secret", with: "new"))
        #expect(reply["resumed"] == (isReplaced ? true : nil))
    }

    /// Whatever the first line is, without a good token it is the last one.
    @Test(arguments: [
        #"{"op":"ping"}"#, #"{"op":"hello"}"#, #"{"op":"hello","token":"guess"}"#,
        #"{"op":"hello","token":""}"#,
        #"{"op":"dispatch","type":"counter","action":"reset"}"#, #"{"op":"nothing"}"#, #"{"#, "[]",
        #"{"op":"hello","token":5}"#, #"{"op":"hello","token":"secret","colour":"red"}"#,
    ])
    func firstLineOfTCPMustBeHelloWithAToken(_ line: String) throws {
        let bus = try bus()
        let client = bus.connect(.tcp(address: "10.0.0.1:1"))
        client.send(
            bytes: Array(
                (line + "\n" + #"{"op":"dispatch","type":"counter","action":"increment"}"# + "\n").utf8))
        let lines = try client.all()
        #expect(lines.count == 2)
        #expect(lines.first?["error"] != nil)
        #expect(lines.last?["event"] == "goodbye")
        #expect(client.isEnded)
        #expect(try bus.connect().state(of: "counter/own")?["count"] == 0)
    }

    @Test func requestsWithoutHelloAreUnauthorized() throws {
        let bus = try bus()
        for line in [
            #"{"op":"ping"}"#, #"{"op":"stats"}"#, #"{"op":"hello"}"#, #"{"op":"hello","token":"guess"}"#,
        ] {
            let client = bus.connect(.tcp(address: "10.0.0.1:1"))
            #expect(try client.code(of: line) == "unauthorized")
        }
    }
}
