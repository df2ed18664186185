import BusJSON
import BusLogic
import TestModes
import TestSupport
import Testing

/// Rules come, change and go: in force from one commit on, for everybody who is there.
@Suite(.inBothModes) struct AccessChangeTests {
    private static let narrow = """
        roles: { admin: [{ user: root }], guest: [everyone] }
        rules:
          - { role: admin, may: all }
          - { role: guest, may: [read, history], match: thermostat/hall, select: [/target] }
        """
    private static let wide = """
        roles: { admin: [{ user: root }], guest: [everyone] }
        rules:
          - { role: admin, may: all }
          - { role: guest, may: [read, dispatch, history] }
        """

    private func reload(_ bus: MemoryBus, _ rules: String?) throws {
        bus.access = rules
        #expect(try bus.root.code(#"{"op":"reload"}"#) == "ok")
    }

    @Test func whatMayNoLongerBeSeenIsDroppedForItsSubscribers() throws {
        let bus = try GuardedBus.make(Self.wide)
        let mallory = bus.mallory
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*"}"#)
        try reload(bus, Self.narrow)
        let events = try mallory.events()
        let dropped = events.flatMap { $0["dropped"]?.array ?? [] }.compactMap(\.string)
        #expect(dropped.sorted() == ["lamp/cellar", "lamp/hall", "thermostat/attic"])
        #expect(events.last?["states"] == ["thermostat/hall": ["target": 20]])
        #expect(events.last?["reset"] == true)
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "forbidden")
        _ = try bus.root.ask(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
        #expect(try mallory.events().isEmpty)
        try reload(bus, Self.wide)
        #expect(try mallory.events().last?["states"]?.object?.count == 4)
        let lines = try mallory.ask(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
        #expect(lines.contains { $0["changes"]?["lamp/hall"]?["count"] == 2 })
    }

    /// What other roles may do, and what may be done to what is shown, changes nothing for subscriptions.
    @Test func whoIsShownTheSameHearsNothingOfNewRules() throws {
        func rules(_ others: String, _ guest: String) -> String {
            """
            roles: { admin: [{ user: root }], other: [{ user: bob }], guest: [{ user: mallory }] }
            rules:
              - { role: admin, may: all }
              - { role: other, \(others) }
              - { role: guest, \(guest) }
            """
        }
        let shown = "match: [thermostat/*, lamp/hall]"
        let guest = "may: [read, history], \(shown)"
        let bus = try GuardedBus.make(rules("may: read, match: lamp/cellar", guest))
        let (bob, mallory) = (bus.bob, bus.mallory)
        for client in [bob, mallory] { _ = try client.ask(#"{"op":"subscribe","match":"*/*"}"#) }
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*","actions":true}"#)
        try reload(bus, rules("may: read, match: lamp/*", "may: [read, history, dispatch], \(shown)"))
        #expect(try mallory.events().isEmpty)
        #expect(try bob.events().last?["reset"] == true)
        let lines = try mallory.ask(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
        #expect(lines.contains { $0["changes"]?["lamp/hall"]?["count"] == 1 })
        #expect(lines.contains { $0["event"] == "action" && $0["action"] == "switch" })
        try reload(bus, rules("may: read, match: lamp/*", "may: read, match: lamp/hall"))
        let events = try mallory.events()
        #expect(events.flatMap { $0["dropped"]?.array ?? [] }.count == 2)
        #expect(events.last?["states"]?.object?.keys == ["lamp/hall"] && events.last?["reset"] == true)
    }

    /// Which parts a guest sees has not changed, though the log begins to keep the store with the reload.
    @Test(.aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
    func whatTheLogBeginsToKeepIsAsOldAsItWas() throws {
        var setup = GuardedBus.setup(Self.narrow)
        setup.definitions[0] += "\nlog: { keep: none }"
        let bus = try MemoryBus(setup)
        func seen(_ bus: MemoryBus) throws -> Int? {
            try bus.mallory.answer(#"{"op":"stores","match":"thermostat/*"}"#)["stores"]?[0]?["revision"]?.int
        }
        for (action, payload) in [("setTarget", #"{"celsius":25}"#), ("hide", #"{"pin":5}"#)] {
            let line =
                #"{"op":"dispatch","store":"thermostat/hall","action":"\#(action)","payload":\#(payload)}"#
            #expect(try bus.root.code(line) == "ok")
        }
        let revision = try #require(try seen(bus))
        #expect(revision == bus.engine.revision - 1)
        bus.definitions = GuardedBus.types
        try reload(bus, Self.narrow)
        #expect(try seen(bus) == revision)
        #expect(try seen(bus.crash()) == revision)
    }

    /// Definitions decide what the log of one machine keeps. A shared bus keeps everything, also behind a reload, on members that were
    /// there as on those that read it in their copies.
    @Test func aReloadUnderRulesLeavesTheirPastToTypesOfASharedBus() throws {
        var setup = GuardedBus.setup(Self.wide)
        setup.definitions[0] += "\nlog: { keep: latest }"
        let bus = try MemoryBus(setup)
        let revision = bus.engine.revision
        try reload(bus, Self.wide)
        let past = #"{"op":"get","store":"thermostat/hall","revision":\#(revision)}"#
        for bus in [bus, try bus.crash()] {
            #expect(try bus.root.code(past) == (setup.isShared ? "ok" : "gone"))
        }
    }

    @Test func rulesComeAndGo() throws {
        let bus = try GuardedBus.make(nil)
        let mallory = bus.mallory
        let line = #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#
        #expect(try mallory.code(line) == "ok")
        let before = bus.engine.revision
        try reload(bus, Self.narrow)
        #expect(bus.engine.revision == before + 1, "The rules are one commit.")
        #expect(try mallory.code(line) == "forbidden")
        try reload(bus, Self.narrow)
        #expect(bus.engine.revision <= before + 2)
        try reload(bus, nil)
        #expect(try mallory.code(line) == "ok")
        #expect(
            try bus.root.answer(#"{"op":"history","limit":50}"#)["commits"]?.array?.contains {
                $0["access"] != nil
            } == true)
    }

    /// Rules are part of the history: what the log says, snapshots keep and the next daemon takes over.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func rulesOutliveTheDaemon() throws {
        let bus = try GuardedBus.make(Self.wide)
        let mallory = bus.mallory
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*"}"#)
        try reload(bus, Self.narrow)
        _ = try mallory.all()
        let past = try bus.past(at: bus.engine.revision)
        #expect(
            past.access?.definition
                == (try AccessRules.load(yaml: Self.narrow, types: SampleTypes.load(and: GuardedBus.types)))
                .definition)
        #expect(past.accessSince == bus.engine.revision)
        #expect(try bus.past(at: bus.engine.revision - 1).access?.rules.count == 2)
        try bus.restart()
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "forbidden")
        _ = try bus.root.ask(#"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}}"#)
        _ = try bus.root.ask(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":30}}"#)
        let last = try #require(try mallory.events().last)
        #expect((last["changes"] ?? last["states"])?["thermostat/hall"]?["target"] == 30)
        #expect(!last.encoded.contains("lamp"))
    }

    /// Without a log, too: the next daemon goes by the rules that it was started with.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func theNextDaemonGoesByItsOwnRules() throws {
        var setup = GuardedBus.setup(Self.wide)
        setup.log = nil
        let bus = try MemoryBus(setup)
        let mallory = bus.mallory
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*"}"#)
        try bus.restart()
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "ok")
        bus.access = Self.narrow
        try bus.restart()
        #expect(try mallory.events().last?["states"] == ["thermostat/hall": ["target": 20]])
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "forbidden")
        bus.access = nil
        try bus.restart()
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "ok")
    }

    /// Rules that could not be written are not in force.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func rulesThatWereNotWrittenAreTakenBack() throws {
        let bus = try GuardedBus.make(Self.wide)
        let (root, mallory) = (bus.root, bus.mallory)
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*"}"#)
        bus.disk = .fails
        bus.access = Self.narrow
        #expect(try root.code(#"{"op":"reload"}"#) == "unavailable")
        bus.disk = .works
        bus.settle()
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "ok")
        let lines = try mallory.ask(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
        #expect(lines.contains { ($0["changes"] ?? $0["states"])?["lamp/hall"]?["count"] == 1 })
    }

    /// What is hidden from subscriptions to the same stores is looked for once, and the stores of each in its client's turns.
    @Test func anotherNameWithOtherRolesHoldsUpNobody() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], screen: [{ user: bob, client: "tv-*" }], guest: [{ user: bob }] }
            rules:
              - { role: admin, may: all }
              - { role: screen, may: read }
              - { role: guest, may: read, match: lamp/hall }
            """)
        let (root, bob) = (bus.root, bus.bob)
        for number in 0..<500 { _ = try root.ask(#"{"op":"create","store":"lamp/x\#(number)"}"#) }
        _ = try bob.ask(#"{"op":"hello","client":"tv-1"}"#)
        for number in 0..<50 {
            _ = try bob.ask(
                #"{"op":"subscribe","type":"lamp","select":["/count","/n\#(number)"],"initial":false}"#)
        }
        let before = bus.engine.totalWork
        Array((#"{"op":"hello","client":"x"}"# + "\n").utf8).withUnsafeBytes {
            bus.engine.receive(bob.connection, $0)
        }
        // A look at a store counts as 60: the hidden ones are looked for, and one turn is taken.
        #expect(bus.engine.totalWork - before < 20 * 500 * 60)
        bus.settle()
        #expect(bus.engine.totalWork - before >= 50 * 500 * 60)
        let lines = try bob.all()
        #expect(lines.reduce(0) { $0 + ($1["dropped"]?.array?.count ?? 0) } == 50 * 501)
        #expect(lines.count { $0["reset"] == true && $0["states"]?.object?.keys == ["lamp/hall"] } == 50)
    }

    /// Actions that were hidden when they happened are not delivered later: a gap says so when the right comes back.
    @Test func actionsThatWereHiddenAreToldAsAGap() throws {
        func rules(_ rights: String) -> String {
            GuardedBus.rulesOfPart("- { role: part, may: \(rights), match: lamp/* }")
        }
        let bus = try GuardedBus.make(rules("[read, history]"))
        let (root, bob) = (bus.root, bus.bob)
        let on = #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#
        _ = try bob.ask(#"{"op":"subscribe","match":"lamp/*","actions":true}"#)
        try reload(bus, rules("read"))
        #expect(try root.code(on) == "ok")
        #expect(try bob.events("action").isEmpty)
        try reload(bus, rules("[read, history]"))
        #expect(try bob.events("gap").last?["revision"]?.int == bus.engine.revision)
        #expect(try root.code(on) == "ok")
        #expect(try bob.events("action").count == 1)
    }

    /// A mirror of earlier rules does not resume: it may hold what is hidden now.
    @Test func aResumptionFromBeforeTheRulesBeginsAnew() throws {
        let bus = try GuardedBus.make(Self.wide)
        let before = bus.engine.revision
        try reload(bus, Self.narrow)
        let reply = try bus.mallory.ask(
            #"{"op":"subscribe","match":"*/*","since":\#(before),"epoch":"\#(bus.epoch)"}"#)
        #expect(reply.last?["reset"] == true)
        #expect(reply.last?["states"]?.object?.keys == ["thermostat/hall"])
    }

    // MARK: Mistakes

    @Test(
        .aloneOnly(because: "Files are read before there is a bus."),
        arguments: [
            ("roles: {}\nrules: []", "No rule without match has may: manage"),
            (
                "roles: { a: [everyone] }\nrules: [{ role: b, may: all }]",
                "invalid value `b` for `role`; valid here: `a`."
            ),
            ("roles: { a: [everyone] }\nrules: [{ role: a, may: al }]", "did you mean `all`?"),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all, match: lamp/* }]",
                "No rule without match has may: manage"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: [read, manage], match: lamp/* }]",
                "manage is about the whole bus"
            ),
            ("roles: { a: [] }\nrules: [{ role: a, may: all }]", "Nobody can have the role a"),
            ("roles: { a: [root] }\nrules: [{ role: a, may: all }]", "write everyone, or { user: root }"),
            ("roles: { a: [{ usr: root }] }\nrules: [{ role: a, may: all }]", "did you mean `user`?"),
            ("roles: { a: [{}] }\nrules: [{ role: a, may: all }]", "names nobody"),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: read, match: lamq/* }]",
                "did you mean `lamp`?"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: read, match: lamp }]",
                "not a pattern of addresses"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all, match: lamp/*, actions: [swich] }]",
                "did you mean `switch`?"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: read, actions: [switch] }]",
                "goes with may: dispatch"
            ),
            ("roles: { a: [everyone] }\nrules: [{ role: a, may: all, if: true }]", "always true"),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all, if: { var: stat.count } }]",
                "did you mean `state`?"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: read, if: { var: state.count } }]",
                "allows neither"
            ),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all }, { role: a, may: dispatch, select: [/x] }]",
                "goes with may: read or history"
            ),
            ("roles: { a: [everyone] }\nrules: [{ role: a, may: all, select: [x] }]", "write a JSON Pointer"),
            ("roles: { a: [everyone] }\nrules: [{ role: a, may: all, maxStores: 0 }]", "at least 1"),
            ("roles: { a: [everyone] }\nrules: [{ role: a, may: [] }]", "may is empty"),
            ("rules: []", "needs a member roles"),
            (
                "roles: { a: [everyone] }\nrules: [{ role: a, may: all, mach: lamp/* }]",
                "did you mean `match`?"
            ),
        ])
    func mistakesAreToldWithTheirPlace(_ yaml: String, _ message: String) throws {
        let types = try SampleTypes.load(and: GuardedBus.types)
        let error = #expect(throws: (any Error).self) { try AccessRules.load(yaml: yaml, types: types) }
        #expect("\(try #require(error))".contains(message), "\(String(describing: error))")
        #expect("\(try #require(error))".hasPrefix("access.yaml:"))
    }

    /// What a rule allows by the names of actions holds for the actions of now, wherever they stand in the type.
    @Test func aTypeThatChangesIsJudgedAnew() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [{ user: mallory }] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: [read, dispatch], actions: [later] }
            """)
        let (root, mallory) = (bus.root, bus.mallory)
        func dispatch(_ action: String) -> String {
            #"{"op":"dispatch","store":"lamp/hall","action":"\#(action)"}"#
        }
        for _ in 0..<2 { #expect(try mallory.code(dispatch("later")) == "ok") }
        bus.definitions = [
            GuardedBus.types[0],
            """
            type: lamp
            initial: { on: false, count: 0 }
            actions:
              later: { increment: { count: 1 } }
              measured: { increment: { count: 1 } }
              aim: { increment: { count: 100 } }
            """,
        ]
        #expect(try root.code(#"{"op":"reload"}"#) == "ok")
        #expect(try mallory.code(dispatch("aim")) == "forbidden")
        #expect(try mallory.code(dispatch("later")) == "ok")
        #expect(bus.engine.state(at: "lamp/hall")?["count"] == 1)
    }
}
