import BusJSON
import TestModes
import TestSupport
import Testing

/// `where` tells nothing that its client may not read.
@Suite(.inBothModes) struct FilterAccessTests {
    /// Bob sees parts of thermostats, one of them whole, and switches lamps, of which he sees those in the hall.
    private static let rules = GuardedBus.rulesOfPart(
        """
        - { role: part, may: read, match: thermostat/*, select: [/target] }
        - { role: part, may: read, match: thermostat/attic }
        - { role: part, may: read, match: lamp/hall }
        - { role: part, may: dispatch, match: "*/*" }
        """)

    private func get(_ condition: String, _ stores: String = #""match":"thermostat/*""#) -> String {
        #"{"op":"get",\#(stores),"where":"\#(condition)"}"#
    }

    @Test func readsSeeWhatTheirClientSees() throws {
        let bus = try GuardedBus.make(Self.rules)
        let (root, bob) = (bus.root, bus.bob)
        func found(_ client: MemoryClient, _ condition: String) throws -> [String] {
            try client.answer(get(condition))["states"]?.object?.keys ?? ["-"]
        }
        #expect(try found(bob, "target == 20") == ["thermostat/attic", "thermostat/hall"])
        #expect(try found(root, "secret.pin == 1") == ["thermostat/attic", "thermostat/hall"])
        #expect(try found(bob, "secret.pin == 1") == ["thermostat/attic"])
        #expect(try found(bob, "!has(state.secret)") == ["thermostat/hall"])
        #expect(try found(bob, "size(state) == 1") == ["thermostat/hall"])
        // What no store shows that is asked for is forbidden, whatever there is.
        for store in [#""store":"thermostat/hall""#, #""match":"thermostat/h*""#] {
            #expect(try bob.code(get("secret.pin == 1", store)) == "forbidden")
            #expect(try bob.code(get("target == 20", store)) == "ok")
        }
        #expect(try bob.code(get("count == 0", #""match":"lamp/c*""#)) == "forbidden")
        #expect(
            try bob.code(#"{"op":"stores","match":"lamp/c*","where":"count == 0"}"#) == "forbidden")
        let lamps = try bob.answer(#"{"op":"stores","match":"lamp/*","where":"count == 0"}"#)["stores"]
        #expect(lamps?.array?.map { $0["store"] } == ["lamp/hall"])
    }

    @Test func subscriptionsSeeWhatTheirClientSees() throws {
        let bus = try GuardedBus.make(Self.rules)
        let (root, bob) = (bus.root, bus.bob)
        let subscribe = { (condition: String, match: String) in
            #"{"op":"subscribe","match":"\#(match)","where":"\#(condition)"}"#
        }
        #expect(try bob.code(subscribe("secret.pin == 2", "thermostat/h*")) == "forbidden")
        #expect(try bob.code(subscribe("secret.pin == 2", "thermostat/*")) == "ok")
        #expect(try bob.code(subscribe("target > 20", "thermostat/*")) == "ok")
        _ = try bob.all()
        for store in ["hall", "attic"] {
            let hide =
                #"{"op":"dispatch","store":"thermostat/\#(store)","action":"hide","payload":{"pin":2}}"#
            #expect(try root.code(hide) == "ok")
        }
        let told = try bob.events()
        #expect(told.map { $0["sub"] } == [1])
        #expect(told.first?["states"]?.object?.keys == ["thermostat/attic"])
        #expect(
            try root.code(
                #"{"op":"dispatch","type":"thermostat","action":"setTarget","payload":{"celsius":22}}"#)
                == "ok")
        let both = try bob.events()
        #expect(both.last?["states"]?["thermostat/hall"] == ["target": 22])
        #expect(both.first?["changes"]?.object?.keys == ["thermostat/attic"])
        #expect(both.count == 2)
    }

    /// All apply the expression alike, so it may read only what its client sees of all stores.
    @Test func dispatchesReadWhatIsShownOfAllStores() throws {
        let bus = try GuardedBus.make(Self.rules)
        let (root, bob) = (bus.root, bus.bob)
        let dispatch = { (type: String, action: String, condition: String) in
            #"{"type":"\#(type)",\#(action),"where":"\#(condition)"}"#
        }
        let set = #""action":"setTarget","payload":{"celsius":22}"#
        let toggle = #""action":"switch","payload":{"on":true}"#
        for (line, code) in [
            (dispatch("thermostat", set, "target < 22"), "ok"),
            // A state may have a member of this name, which hides what is meant.
            (dispatch("thermostat", set, "store != 'thermostat/x'"), "forbidden"),
            (dispatch("thermostat", set, "secret.pin == 1"), "forbidden"),
            (dispatch("thermostat", set, "size(state) == 1"), "forbidden"),
            (dispatch("lamp", toggle, "count == 0"), "forbidden"),
            (dispatch("lamp", toggle, "nothing == 0"), "forbidden"),
            (dispatch("*", #""action":"measured","payload":{"celsius":9}"#, "target > 9"), "forbidden"),
        ] {
            #expect(try bob.code(#"{"op":"dispatch",\#(line.dropFirst())"#) == code, "\(line)")
            #expect(try bob.code(#"{"op":"dispatch","actions":[\#(line)]}"#) == code, "\(line)")
            #expect(try root.code(#"{"op":"dispatch","dryRun":true,\#(line.dropFirst())"#) == "ok", "\(line)")
        }
    }

    /// Who drops by value may drop all of the type, and read what decides of all of them.
    @Test func dropsNeedBothRightsOfAllStores() throws {
        let more = ["drop, match: thermostat/*", "drop, match: lamp/hall"]
            .map { "\n  - { role: part, may: \($0) }" }.joined()
        let bus = try GuardedBus.make(Self.rules + more)
        let (root, bob) = (bus.root, bus.bob)
        for (type, condition, code) in [
            ("thermostat", "target > 900", "ok"), ("thermostat", "secret.pin == 1", "forbidden"),
            ("thermostat", "size(state) == 1", "forbidden"), ("lamp", "true", "forbidden"),
            ("none", "true", "forbidden"),
        ] {
            let drop = #"{"op":"drop","type":"\#(type)","where":"\#(condition)"}"#
            #expect(try bob.code(drop) == code, "\(drop)")
            #expect(try bob.code(#"{"op":"dispatch","actions":[\#(drop)]}"#) == code, "\(drop)")
        }
        let reply = try bob.answer(#"{"op":"drop","type":"thermostat","where":"target == 20"}"#)
        #expect(reply["matched"] == 2, "\(reply)")
        #expect(try root.answer(#"{"op":"get","type":"thermostat"}"#)["states"] == [:])
    }

    /// Of a member of which only a part is shown, it is that part that a read sees; of all stores it has to be the whole.
    @Test func aPartOfAMemberIsNoMember() throws {
        let bus = try GuardedBus.make(
            GuardedBus.rulesOfPart(
                """
                - { role: part, may: read, match: thermostat/*, select: [/target, /secret/pin] }
                - { role: part, may: dispatch, match: "*/*" }
                """))
        let bob = bus.bob
        #expect(try bob.code(get("secret.pin == 1")) == "ok")
        for condition in [#""secret.pin == 1""#, #"{">":[{"var":{"var":"target"}},1]}"#, #"{"var":""}"#] {
            let line =
                #"{"op":"dispatch","type":"thermostat","action":"measured","payload":{"celsius":9},"where":\#(condition)}"#
            #expect(try bob.code(line) == "forbidden", "\(condition)")
            #expect(try bus.root.code(line) == "ok", "\(condition)")
        }
    }

    /// Two clients with one expression do not see the same of a store, whoever comes first.
    @Test(arguments: [false, true]) func theSameExpressionIsAnotherForAnother(_ isRootFirst: Bool) throws {
        let bus = try GuardedBus.make(Self.rules)
        let (root, bob) = (bus.root, bus.bob)
        for client in isRootFirst ? [root, bob] : [bob, root] {
            let line = #"{"op":"subscribe","match":"thermostat/*","where":"secret.pin == 2"}"#
            #expect(try client.code(line) == "ok")
            _ = try client.all()
        }
        let other = bus.connect(uid: 0)
        for action in [#""hide","payload":{"pin":2}"#, #""setTarget","payload":{"celsius":22}"#] {
            let line = #"{"op":"dispatch","store":"thermostat/hall","action":\#(action)}"#
            #expect(try other.code(line) == "ok")
        }
        let told = try root.events()
        #expect(told.map { $0["states"]?.object?.keys } == [["thermostat/hall"], nil])
        #expect(told.last?["changes"] == ["thermostat/hall": ["target": 22]])
        #expect(try bob.events() == [])
    }

    /// The rules' conditions are about the stores that are meant.
    @Test func theRulesAreAskedForTheStoresThatAreMeant() throws {
        let bus = try GuardedBus.make(
            GuardedBus.rulesOfPart(
                """
                - { role: part, may: read, match: lamp/* }
                - { role: part, may: dispatch, match: lamp/*, if: { "==": [{ var: state.count }, 0] } }
                """))
        let toggle = #"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}"#
        let one = #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#
        #expect(try bus.root.code(one) == "ok")
        let bob = bus.bob
        #expect(try bob.code(toggle + "}") == "forbidden")
        #expect(try bob.answer(toggle + #","where":"count == 0"}"#)["matched"] == 1)
    }

    /// Rules that show something else change what an expression comes to.
    @Test func newRulesMoveStores() throws {
        let bus = try GuardedBus.make(Self.rules)
        let bob = bus.bob
        var mirror = ContractMirror()
        try mirror.take(bob.ask(#"{"op":"subscribe","match":"thermostat/*","where":"secret.pin == 1"}"#))
        func reload(_ rules: String) throws -> [String] {
            bus.access = rules
            #expect(try bus.root.code(#"{"op":"reload"}"#) == "ok")
            try mirror.take(bob.all())
            return mirror.states.keys.sorted()
        }
        #expect(mirror.states.keys.sorted() == ["thermostat/attic"])
        let more = Self.rules.replacing("[/target]", with: "[/target, /secret]")
        #expect(try reload(more) == ["thermostat/attic", "thermostat/hall"])
        #expect(try reload(Self.rules) == ["thermostat/attic"])
    }

    @Test func thePastIsJudgedByWhatIsShownOfIt() throws {
        let bus = try GuardedBus.make(
            GuardedBus.rulesOfPart(
                """
                - { role: part, may: read, match: thermostat/*, select: [/target] }
                - { role: part, may: history, match: thermostat/hall }
                """))
        let now = get("secret.pin == 1", #""store":"thermostat/hall""#)
        let then = get("secret.pin == 1", #""store":"thermostat/hall","revision":3"#)
        #expect(try bus.bob.code(now) == "forbidden")
        #expect(try bus.bob.answer(then)["states"]?.object?.keys == ["thermostat/hall"])
    }
}
