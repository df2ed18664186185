import BusJSON
import TestModes
import TestSupport
import Testing

/// Conditions of requests tell nothing that their client may not read.
@Suite(.inBothModes) struct ConditionAccessTests {
    /// Bob sees parts of thermostats and switches lamps, of which he sees none.
    private static let rules = GuardedBus.rulesOfPart(
        """
        - { role: part, may: read, match: thermostat/*, select: [/target] }
        - { role: part, may: dispatch, match: "*/*" }
        - { role: part, may: [create, drop], match: lamp/* }
        """)

    private static func line(_ store: String, _ action: String, _ condition: String) -> String {
        #"{"op":"dispatch","store":"\#(store)","action":"\#(action)","if":"\#(condition)"}"#
    }

    @Test func conditionSeesWhatItsClientSees() throws {
        let bus = try GuardedBus.make(Self.rules)
        let (root, bob) = (bus.root, bus.bob)
        let set = { (condition: String) in
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":21},"if":"\#(condition)"}"#
        }
        #expect(try bob.code(set("target == 20")) == "ok")
        #expect(try bob.code(set("has(state.secret)")) == "conflict")
        #expect(try bob.code(set("!has(state.secret)")) == "ok")
        #expect(try bob.code(set("size(state) == 1")) == "ok")
        #expect(try root.code(set("secret.pin == 1")) == "ok")
        // Whatever the part is that is not shown, the answer is the same.
        for pin in ["1", "2"] {
            #expect(
                try bob.answer(set("secret.pin == \(pin)"))["error"]?["message"]?.string
                    == "`if` has no value on thermostat/hall: secret.pin is missing; read it again and decide anew."
            )
        }
    }

    /// It is refused before anything is looked at.
    @Test func whoMayNotReadMaySetNoCondition() throws {
        let bus = try GuardedBus.make(Self.rules)
        let bob = bus.bob
        #expect(
            try bob.code(#"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
                == "ok")
        for store in ["lamp/hall", "lamp/none"] {
            let switched = #""store":"\#(store)","action":"switch","payload":{"on":true}"#
            for line in [
                #"{"op":"dispatch",\#(switched),"if":"true"}"#,
                #"{"op":"dispatch",\#(switched),"ifRevision":3}"#,
                #"{"op":"dispatch","actions":[{\#(switched),"if":"true"}]}"#,
                #"{"op":"dispatch","actions":[{\#(switched),"ifRevision":3}]}"#,
                #"{"op":"dispatch","actions":[{"op":"drop","store":"\#(store)","if":"count == 0"}]}"#,
                #"{"op":"drop","store":"\#(store)","if":"count == 0"}"#,
                #"{"op":"drop","store":"\#(store)","ifRevision":1}"#,
            ] {
                let error = try bob.answer(line)["error"]
                #expect(error?["code"] == "forbidden", "\(line): \(error ?? .null)")
                #expect(error?["store"]?.string == store)
            }
        }
        #expect(try bob.code(#"{"op":"drop","store":"lamp/none"}"#) == "unknown_store")
    }

    @Test func batchCreatesAndDropsWhatItsClientMay() throws {
        let bus = try GuardedBus.make(Self.rules)
        let (bob, ada) = (bus.bob, bus.root)
        let batch = { (store: String) in
            #"{"op":"dispatch","actions":[{"op":"create","store":"\#(store)"},{"op":"drop","store":"lamp/cellar"}]}"#
        }
        let error = try bob.answer(batch("thermostat/new"))["error"]
        #expect(error?["code"] == "forbidden")
        #expect(error?["index"] == 0)
        #expect(try ada.code(#"{"op":"get","store":"lamp/cellar"}"#) == "ok")
        // He sees none of it, so no counts tell what there is.
        let told = try bob.answer(batch("lamp/new").dropLast() + #","return":"states"}"#)
        #expect(told == ["ok": true, "revision": 5, "matched": 0, "changed": 0, "states": [:]])
        #expect(try ada.code(#"{"op":"get","store":"lamp/cellar"}"#) == "unknown_store")
        #expect(try ada.code(#"{"op":"get","store":"lamp/new"}"#) == "ok")
    }

    @Test func replyTellsWhatItsClientSees() throws {
        let bus = try GuardedBus.make(Self.rules)
        let line = { (action: String, payload: String) in
            #"{"op":"dispatch","type":"thermostat","action":"\#(action)","payload":\#(payload),"return":"changes"}"#
        }
        let hidden = try bus.bob.answer(line("hide", #"{"pin":4}"#))
        #expect(hidden["changes"] == [:])
        #expect(hidden["changed"] == 0)
        let shown = try bus.bob.answer(line("setTarget", #"{"celsius":3}"#))
        #expect(shown["changes"] == ["thermostat/attic": ["target": 3], "thermostat/hall": ["target": 3]])
        // History tells him nothing of the order of what he may not see.
        #expect(try bus.bob.code(#"{"op":"history","store":"lamp/hall"}"#) == "forbidden")
    }
}
