import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Who may change what: each operation on each kind of target, by each kind of role.
@Suite(.inBothModes) struct DispatchAccessTests {
    struct Case: CustomTestStringConvertible {
        let line: String
        let root: String
        let ada: String
        let bob: String
        let mallory: String
        var testDescription: String { line }

        /// What root, one of the family, a display, and somebody without a role get.
        init(_ line: String, _ root: String, _ ada: String, _ bob: String, _ mallory: String) {
            (self.line, self.root, self.ada, self.bob, self.mallory) = (line, root, ada, bob, mallory)
        }
    }

    private static let no = "forbidden"

    static let cases: [Case] = [
        .init(#"{"op":"ping"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"sync"}"#, "ok", "ok", "ok", "ok"),
        .init(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":21}}"#,
            "ok",
            "ok", no, no),
        .init(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":26}}"#,
            "ok",
            no, no, no),
        .init(
            #"{"op":"dispatch","type":"thermostat","action":"setTarget","payload":{"celsius":21}}"#, "ok",
            "ok",
            no, no),
        .init(
            #"{"op":"dispatch","type":"thermostat","action":"setTarget","payload":{"celsius":30}}"#, "ok", no,
            no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#, "ok", "ok", no,
            no),
        .init(
            #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true}}"#, "ok", no, no,
            no),
        // One store of the type is not enough.
        .init(#"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}}"#, "ok", no, no, no),
        .init(#"{"op":"dispatch","type":"*","action":"measured","payload":{"celsius":3}}"#, "ok", no, no, no),
        .init(
            #"{"op":"dispatch","type":"*","action":"setTarget","payload":{"celsius":3}}"#, "ok", "ok", no, no),
        .init(
            #"{"op":"dispatch","actions":[{"store":"lamp/hall","action":"switch","payload":{"on":true}},{"store":"lamp/cellar","action":"switch","payload":{"on":true}}]}"#,
            "ok", no, no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true},"dryRun":true}"#,
            "ok",
            "ok", no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true},"key":"k1"}"#,
            "ok",
            "ok", no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"in":5}"#, "ok",
            no,
            no, no),
        .init(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":26},"in":5}"#,
            "ok", no, no, no),
        .init(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":25},"in":5}"#,
            "ok", "ok", no, no),
        .init(
            #"{"op":"will","actions":[{"store":"lamp/cellar","action":"switch","payload":{"on":true}}]}"#,
            "ok", no,
            no, no),
        .init(
            #"{"op":"will","actions":[{"store":"lamp/hall","action":"switch","payload":{"on":true}}]}"#, "ok",
            "ok", no, no),
        .init(#"{"op":"create","store":"lamp/own-1"}"#, "ok", "ok", no, no),
        .init(#"{"op":"create","store":"lamp/own-2","state":{"count":3}}"#, "ok", no, no, no),
        .init(#"{"op":"create","store":"lamp/other"}"#, "ok", no, no, no),
        .init(#"{"op":"create","store":"lamp/own-3","ephemeral":true}"#, "ok", "ok", no, no),
        .init(#"{"op":"drop","store":"lamp/cellar"}"#, "ok", no, no, no),
        .init(#"{"op":"drop","store":"lamp/own-0"}"#, "ok", "ok", no, no),
        .init(#"{"op":"revert","store":"lamp/cellar","revision":5}"#, "ok", no, no, no),
        .init(#"{"op":"revert","store":"lamp/own-0","revision":5}"#, "ok", "ok", no, no),
        .init(#"{"op":"reload"}"#, "ok", no, no, no),
        .init(#"{"op":"reload","dryRun":true}"#, "ok", no, no, no),
        .init(#"{"op":"get","store":"thermostat/hall"}"#, "ok", "ok", "ok", no),
        .init(#"{"op":"get","store":"lamp/cellar"}"#, "ok", no, no, no),
        .init(#"{"op":"get","type":"thermostat"}"#, "ok", "ok", "ok", "unknown_type"),
        .init(#"{"op":"get","type":"lamp"}"#, "ok", "ok", "unknown_type", "unknown_type"),
        .init(#"{"op":"get","match":"*/*"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"get","store":"thermostat/hall","revision":5}"#, "ok", "ok", no, no),
        .init(#"{"op":"history","store":"thermostat/hall"}"#, "ok", "ok", no, no),
        .init(#"{"op":"history","store":"lamp/cellar"}"#, "ok", no, no, no),
        .init(#"{"op":"history"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"stores"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"types"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"types","type":"lamp"}"#, "ok", "ok", "unknown_type", "unknown_type"),
        .init(#"{"op":"stats"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"timers"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"subscribe","store":"thermostat/hall"}"#, "ok", "ok", "ok", no),
        .init(#"{"op":"subscribe","store":"lamp/cellar"}"#, "ok", no, no, no),
        .init(#"{"op":"subscribe","match":"*/*"}"#, "ok", "ok", "ok", "ok"),
        .init(#"{"op":"subscribe","match":"*/*","cause":true}"#, "ok", no, no, no),
        .init(#"{"op":"subscribe","store":"thermostat/hall","actions":true}"#, "ok", "ok", no, no),
        .init(#"{"op":"subscribe","store":"lamp/cellar","actions":true}"#, "ok", no, no, no),
        // What does not exist is refused like what does.
        .init(#"{"op":"get","store":"lamp/nowhere"}"#, "unknown_store", no, no, no),
        .init(#"{"op":"drop","store":"lamp/nowhere"}"#, "unknown_store", no, no, no),
        .init(#"{"op":"history","store":"lamp/nowhere"}"#, "ok", no, no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/nowhere","action":"switch","payload":{"on":true}}"#,
            "unknown_store", no, no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/nowhere","action":"switch","payload":{"on":true},"in":5}"#,
            "unknown_store", no, no, no),
        .init(#"{"op":"dispatch","store":"nothing/x","action":"switch"}"#, "unknown_type", no, no, no),
        .init(#"{"op":"dispatch","store":"lamp/cellar","action":"nothing"}"#, "unknown_action", no, no, no),
        .init(#"{"op":"dispatch","store":"lamp/cellar","action":"switch"}"#, "invalid_payload", no, no, no),
        .init(
            #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"ifRevision":1}"#,
            "conflict", no, no, no),
        .init(#"{"op":"dispatch","type":"*","action":"nothing"}"#, "unknown_action", no, no, no),
        .init(#"{"op":"cancel","store":"lamp/cellar","timer":"t"}"#, "ok", no, no, no),
        .init(#"{"op":"cancel","store":"lamp/nowhere","timer":"t"}"#, "unknown_store", no, no, no),
    ]

    @Test(
        arguments: cases) func matrix(_ test: Case) throws
    {
        for (uid, expected) in [(0, test.root), (1001, test.ada), (1002, test.bob), (1003, test.mallory)] {
            let bus = try GuardedBus.make()
            let root = bus.root
            #expect(try root.code(#"{"op":"create","store":"lamp/own-0"}"#) == "ok")
            #expect(
                try root.code(
                    #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"in":9,"timer":"t"}"#
                ) == "ok")
            let before = bus.engine.stateDigest
            let found = try bus.connect(uid: uid).code(test.line)
            #expect(found == expected, "uid \(uid)")
            if found != "ok" { #expect(bus.engine.stateDigest == before, "What is refused changes nothing.") }
        }
    }

    @Test func unitsAndTokensHaveRolesToo() throws {
        let bus = try GuardedBus.make()
        let line = #"{"op":"dispatch","store":"thermostat/hall","action":"measured","payload":{"celsius":3}}"#
        let other =
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":3}}"#
        let heating = bus.connect(.unix(uid: 1003, pid: 7, unit: "heating.service"))
        #expect(try heating.code(line) == "ok")
        #expect(try heating.code(other) == "forbidden")
        let phone = bus.connect(.tcp(address: "127.0.0.1:4"))
        let hello = try phone.answer(#"{"op":"hello","token":"0123456789abcdef"}"#)
        #expect(hello["identity"]?["roles"] == ["family"])
        #expect(try phone.code(other) == "ok")
        let toaster = bus.connect(.tcp(address: "127.0.0.1:5"))
        #expect(try toaster.answer(#"{"op":"hello","token":"fedcba9876543210"}"#)["identity"]?["roles"] == [])
        #expect(try toaster.code(line) == "forbidden")
    }

    /// What a client calls itself narrows a line, from when it says so until it says something else, and also for what it
    /// watches already.
    @Test func whatAClientCallsItselfNarrowsALine() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], panel: [{ user: bob, client: "panel-*" }] }
            rules:
              - { role: admin, may: all }
              - { role: panel, may: read, match: lamp/* }
            """)
        let (bob, mallory) = (bus.connect(uid: 1002), bus.connect(uid: 1003))
        let get = #"{"op":"get","store":"lamp/hall"}"#
        func hello(_ client: MemoryClient, _ name: String) throws -> JSON? {
            try client.answer(#"{"op":"hello","client":"\#(name)"}"#)["identity"]?["roles"]
        }
        #expect(try bob.code(get) == "forbidden")
        #expect(try hello(bob, "panel-hall") == ["panel"])
        #expect(try bob.code(get) == "ok")
        #expect(try bob.code(#"{"op":"subscribe","store":"lamp/hall"}"#) == "ok")
        #expect(try hello(mallory, "panel-hall") == [])
        #expect(try mallory.code(get) == "forbidden")
        _ = try bob.all()
        #expect(try hello(bob, "other") == [])
        #expect(try bob.code(get) == "forbidden")
        #expect(
            try bus.root.code(
                #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#) == "ok")
        let events = try bob.all()
        #expect(events.allSatisfy { $0["changes"] == nil && $0["states"] == nil }, "\(events)")
    }

    /// Who has shown a certificate needs no hello, and has its roles from the first line on.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func certificatesHaveRoles() throws {
        let bus = try GuardedBus.make()
        func connect(_ subject: String, _ names: [String] = []) -> MemoryClient {
            bus.connect(
                .tcp(
                    address: "192.0.2.7:4",
                    certificate: ClientCertificate(subject: subject, names: names)))
        }
        for client in [connect("CN=display-hall,O=Home"), connect("CN=other", ["DNS:display.home"])] {
            #expect(try client.code(#"{"op":"get","store":"lamp/hall"}"#) == "forbidden")
            #expect(
                try client.answer(#"{"op":"get","store":"thermostat/hall"}"#)["states"]
                    == ["thermostat/hall": ["heating": false, "target": 20]])
            #expect(try client.answer(#"{"op":"hello"}"#)["identity"]?["roles"] == ["display"])
        }
        let other = connect("CN=other")
        #expect(try other.code(#"{"op":"get","store":"thermostat/hall"}"#) == "forbidden")
        #expect(try other.code(#"{"op":"reload"}"#) == "forbidden")
        try bus.restart()
        #expect(try other.code(#"{"op":"get","store":"thermostat/hall"}"#) == "forbidden")
    }

    /// A rule with `maxStores` bounds how long a commit may take.
    @Test func aRuleBoundsHowManyStoresAreReached() throws {
        let bus = try GuardedBus.make()
        let heating = bus.connect(.unix(uid: 1003, pid: 7, unit: "heating.service"))
        #expect(
            try heating.code(
                #"{"op":"dispatch","type":"thermostat","action":"measured","payload":{"celsius":3}}"#)
                == "limit")
        #expect(try bus.root.code(#"{"op":"drop","store":"thermostat/attic"}"#) == "ok")
        #expect(
            try heating.code(
                #"{"op":"dispatch","type":"thermostat","action":"measured","payload":{"celsius":3}}"#)
                == "ok")
    }

    /// Each action of a batch is judged by the states that those before it have left: a batch may do no more than its
    /// actions one after the other.
    @Test func conditionsSeeWhatTheBatchHasDone() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: [read, dispatch], match: lamp/*, if: { "<": [{ var: state.count }, 2] } }
            """)
        let one = #"{"store":"lamp/hall","action":"switch","payload":{"on":true}}"#
        let mallory = bus.mallory
        let reply = try mallory.answer(#"{"op":"dispatch","actions":[\#(one),\#(one),\#(one)]}"#)
        #expect(reply["error"]?["code"] == "forbidden")
        #expect(reply["error"]?["index"] == 2 && reply["error"]?["store"] == "lamp/hall")
        #expect(bus.engine.state(at: "lamp/hall")?["count"] == 0)
        #expect(try mallory.code(#"{"op":"dispatch","actions":[\#(one),\#(one)]}"#) == "ok")
        #expect(
            try mallory.code(
                #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
                == "forbidden")
        // One store for which it does not hold is enough.
        #expect(
            try mallory.code(#"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}}"#)
                == "forbidden")
        #expect(bus.engine.state(at: "lamp/cellar")?["count"] == 0)
    }

    /// What is carried out later is judged again then, by the rules and states of that time.
    @Test func timersAndWillsAreJudgedWhenTheyAreCarriedOut() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: [read, dispatch], match: lamp/*, if: { "<": [{ var: state.count }, 1] } }
            """)
        let (root, mallory) = (bus.root, bus.mallory)
        let line = #""store":"lamp/hall","action":"switch","payload":{"on":true}"#
        #expect(try mallory.code(#"{"op":"dispatch",\#(line),"in":1}"#) == "ok")
        #expect(try mallory.code(#"{"op":"will","actions":[{\#(line)}]}"#) == "ok")
        #expect(try root.code(#"{"op":"dispatch",\#(line)}"#) == "ok")
        bus.advance(milliseconds: 2000)
        #expect(bus.engine.state(at: "lamp/hall")?["count"] == 1)
        #expect(bus.operatorNotes.contains { $0.contains("timer") && $0.contains("access rules") })
        mallory.close()
        #expect(bus.engine.state(at: "lamp/hall")?["count"] == 1)
        #expect(bus.operatorNotes.contains { $0.contains("will") && $0.contains("access rules") })
    }

    @Test(arguments: [#"{ "==": [{ var: payload.text }, { var: who.user }] }"#, "payload.text == who.user"])
    func expressionsReadWhoAsks(condition: String) throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: dispatch, match: thermostat/*, actions: [note], if: \(condition) }
            """)
        let ada = bus.ada
        #expect(
            try ada.code(
                #"{"op":"dispatch","store":"thermostat/hall","action":"note","payload":{"text":"bob"}}"#)
                == "forbidden")
        #expect(
            try ada.code(
                #"{"op":"dispatch","store":"thermostat/hall","action":"note","payload":{"text":"ada"}}"#)
                == "ok")
    }

    /// A timer of somebody else gives way to who may dispatch its action, too, as it is set.
    @Test func timersOfOthersAreReplacedByWhoMayDoWhatTheyDo() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], family: [{ user: ada }], sensor: [{ user: bob }] }
            rules:
              - { role: admin, may: all }
              - { role: family, may: dispatch, match: lamp/* }
              - { role: sensor, may: dispatch, match: lamp/*, actions: [measured] }
              - { role: sensor, may: dispatch, match: lamp/*, actions: [switch], if: payload.on }
            """)
        func set(_ client: MemoryClient, _ action: String, _ payload: String, _ rest: String = "") throws
            -> String
        {
            let target = #""store":"lamp/hall","action":"\#(action)","payload":{\#(payload)}"#
            return try client.code(#"{"op":"dispatch",\#(target),"in":60,"timer":"off"\#(rest)}"#)
        }
        let (ada, bob) = (bus.ada, bus.bob)
        #expect(try set(bus.root, "switch", #""on":false"#) == "ok")
        #expect(try set(bob, "measured", #""celsius":1"#, #","dryRun":true"#) == "forbidden")
        #expect(try set(bob, "measured", #""celsius":1"#) == "forbidden")
        #expect(try set(ada, "measured", #""celsius":1"#) == "ok")
        // It is one of Ada's now, and does what Bob may do as well.
        #expect(try set(bob, "measured", #""celsius":2"#) == "ok")
        #expect(try set(bob, "measured", #""celsius":3"#) == "ok")
        #expect(try set(ada, "switch", #""on":true"#) == "ok")
        #expect(try set(bob, "switch", #""on":true"#) == "ok")
        #expect(try set(bus.root, "switch", #""on":false"#) == "ok")
        // Bob may switch it on only, and this would switch it off.
        #expect(try set(bob, "switch", #""on":true"#) == "forbidden")
    }

    /// Denials are reported, but not as many as a client can cause, and counted.
    @Test func denialsAreReportedAndCounted() throws {
        let bus = try GuardedBus.make()
        let mallory = bus.mallory
        let line = #"{"op":"get","store":"lamp/hall"}"#
        for _ in 0..<50 { #expect(try mallory.code(line) == "forbidden") }
        #expect(try bus.bob.code(line) == "forbidden")
        #expect(bus.operatorNotes.count { $0.contains("was refused") } == 1)
        bus.advance(milliseconds: 2000)
        #expect(try mallory.code(line) == "forbidden")
        #expect(bus.operatorNotes.contains { $0.contains("50 more were refused") })
        let stats = try bus.root.answer(#"{"op":"stats"}"#)["stats"]
        #expect(stats?["denials"] == ["": 51, "display": 1])
    }
}
