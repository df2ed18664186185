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
}
