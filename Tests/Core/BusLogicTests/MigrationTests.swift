import BusJSON
import BusLogic
import BusProtocol
import BusSource
import BusYAML
import TestSupport
import Testing

/// `version` and `migrate` of declared types: what is refused when they are loaded, and what the steps do.
@Suite struct MigrationTests {
    private func type(_ text: String) throws -> DeclaredType {
        try DeclaredType(
            LocatedValue.read("type: light\ninitial: { brightness: 0 }\n" + text, file: "light.yaml"))
    }

    private func mistake(in text: String) -> String? {
        do {
            _ = try type(text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func stepsRunOneAfterTheOther() throws {
        let light = try type(
            """
            version: 4
            migrate:
              3: {}
              1: { set: { level: { var: state.old }, copy: { var: state.old } }, unset: [old] }
              2:
                set: { brightness: { "*": [{ var: state.level }, 2] } }
                unset: [level, copy]
            """)
        #expect(light.version == 4)
        #expect(try light.migrate(["old": 3], from: 1) == ["brightness": 6])
        #expect(try light.migrate(["level": 3, "copy": 1], from: 2) == ["brightness": 6])
        #expect(try light.adopt(["brightness": 3], of: 3, from: .request) == ["brightness": 3])
        #expect(throws: PayloadFailure.self) { try light.adopt(["brightness": 3], of: 5, from: .request) }
    }

    /// Every kind of write; expressions see the state as it was before the step.
    @Test func stepsWriteAsActionsDo() throws {
        let light = try type(
            """
            version: 2
            migrate:
              1:
                set: { a: { var: state.b }, b: { var: state.a }, "deep.x": 1 }
                unset: [gone]
                increment: { n: { var: state.n } }
                toggle: [flag]
                append: { list: { val: [state, list, 0] } }
                remove: { names: x }
                merge: { deep: { y: null, z: { var: state.a } } }
            """)
        let old: JSONObject = [
            "a": 1, "b": 2, "deep": ["y": 1], "gone": 0, "n": 4, "flag": false, "list": [7],
            "names": ["x", "y"],
        ]
        let new: JSONObject = [
            "a": 2, "b": 1, "deep": ["x": 1, "z": 1], "n": 8, "flag": true, "list": [7, 7], "names": ["y"],
        ]
        #expect(try light.migrate(old, from: 1) == new)
    }

    /// Expressions in paths, `patch` and `each` as in actions.
    @Test func stepsWriteWhereTheStateTells() throws {
        let light = try type(
            """
            version: 2
            let: { rooms: "keys(state.?rooms.orValue({}))" }
            migrate:
              1:
                set: { "lights.{state.first}": 7, "{'na' + 'me'}": "= string(size(rooms))" }
                patch: = state.more
                each:
                  in: state.rooms
                  as: [name, room]
                  set: { "lights.{name}": = room.level }
                  unset: ["rooms.{name}.level"]
            """)
        let again = try DeclaredType(definition: light.definition)
        let old: JSONObject = [
            "first": "x.y", "lights": [:], "more": ["a": .null, "b": 1],
            "rooms": ["attic": ["level": 1], "hall": ["level": 2, "on": true]],
        ]
        var new = old
        new["lights"] = ["attic": 1, "hall": 2, "x.y": 7]
        new["rooms"] = ["attic": [:], "hall": ["on": true]]
        (new["name"], new["a"], new["b"]) = ("2", .null, 1)
        #expect(again.definition == light.definition)
        for type in [light, again] { #expect(try type.migrate(old, from: 1) == new) }
        // What was a member before may be computed now.
        let computed = try type(
            "version: 2\ncomputed: { level: brightness }\nmigrate: { 1: { set: { brightness: = state.level }, unset: [level] } }"
        )
        #expect(try computed.migrate(["level": 3], from: 1) == ["brightness": 3])
    }

    /// Objects are passed on sorted by their members: where the written order matters it must survive.
    @Test func writtenOrderSurvivesTheDefinition() throws {
        let light = try type("version: 2\nmigrate: { 1: { set: { z: {}, \"z.b\": 1, a: 2 }, unset: [old] } }")
        let again = try DeclaredType(definition: light.definition)
        for type in [light, again] {
            #expect(try type.migrate(["old": 0], from: 1) == ["a": 2, "z": ["b": 1]])
        }
        #expect(again.definition == light.definition)
        // The second takes back the first; sorted, it would come before.
        let reversed = try type("version: 2\nmigrate: { 1: { set: { \"z.b\": 1, z: {} } } }")
        for type in [reversed, try DeclaredType(definition: reversed.definition)] {
            #expect(try type.migrate(["z": ["c": 1]], from: 1) == ["z": [:]])
        }
    }

    /// From whichever version a state is, every step from there on is taken, once.
    @Test func everyStepIsTakenOnce() throws {
        let steps = (1..<6).map { version in
            "  \(version): { append: { taken: \(version) } }\n"
        }
        let light = try type("version: 6\nmigrate:\n" + steps.joined())
        for version in 1...6 {
            let taken = try light.migrate(["taken": []], from: version)["taken"]
            #expect(taken == .array((version..<6).map { .int($0) }))
        }
    }

    /// What comes out of the steps is held against `state`, and has no member that the type lacks.
    @Test func theResultIsCheckedAsAnyStateIs() throws {
        let light = try DeclaredType(
            LocatedValue.read(
                """
                type: light
                version: 2
                state: { level: { type: integer, maximum: 100, default: 0 } }
                computed: { isOn: { ">": [{ var: level }, 0] } }
                migrate: { 1: { set: { level: { "*": [{ var: state.level }, 10] } } } }
                """, file: "light.yaml"))
        #expect(try light.adopt(["level": 10], of: 1, from: .request) == ["level": 100, "isOn": true])
        for (state, words) in [
            (["level": 11], "level must be at most 100, not 110"),
            (["level": 1, "colour": "red"], "light has no member colour"),
        ] as [(JSONObject, String)] {
            let failure = #expect(throws: PayloadFailure.self) {
                try light.adopt(state, of: 1, from: .request)
            }
            #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
        }
    }

    @Test(
        arguments: [
            ("version: 1\nmigrate: { 1: {} }", "4:12", "set version: 2, or leave it out"),
            ("version: 3\nmigrate: { 2: {} }", "3:10", "needs a step from version 1 to 2"),
            ("version: 2", "3:10", "write it under migrate: 1:"),
            ("version: 0", "3:10", "within 1...10000"),
            ("version: \"2\"", "3:10", "version must be an integer"),
            ("version: 2\nmigrate: { one: {} }", "4:12", "one is not a version"),
            ("version: 2\nmigrate: { 01: {}, 1: {} }", "4:", "duplicate key `1`"),
            ("version: 2\nmigrate: { -1: {}, 1: {} }", "4:12", "-1 is not a version"),
            ("version: 2\nmigrate: { 1: { sett: { a: 1 } } }", "4:17", "did you mean `set`?"),
            ("version: 2\nmigrate: { 1: { set: { a: { var: level } } } }", "4:34", "write state.level"),
            (
                "version: 2\nmigrate: { 1: { set: { a: { var: payload.level } } } }", "4:34",
                "reads the old state"
            ),
            ("version: 2\nmigrate: { 1: { set: { a: { var: meta.time } } } }", "4:34", "reads the old state"),
            ("version: 2\nmigrate: { 1: { set: { \"a.{payload.x}\": 1 } } }", "4:24", "write the path out"),
            (
                "version: 2\nmigrate: { 1: { set: { \"a.{payload.x + 1}\": 1 } } }", "4:24",
                "write the path out"
            ),
            ("version: 2\nmigrate: { 1: { set: { \"a.{meta.hour}\": 1 } } }", "4:24", "reads the old state"),
            (
                "version: 2\nmigrate: { 1: { each: { in: state.a, set: { b: 1 } } } }", "4:23",
                "needs a member as"
            ),
            ("version: 2\nmigrate: { 1: { unset: { a: 1 } } }", "4:24", "unset must be a list"),
            ("version: 2\nmigrate: { 1: { set: { a: { pluss: [1, 2] } } } }", "4:", "plus"),
        ]) func mistakesAreFoundWhenLoading(text: String, place: String, words: String)
    {
        let found = mistake(in: text) ?? ""
        #expect(found.contains("light.yaml:\(place)"), "\(found)")
        #expect(found.contains(words), "\(found)")
    }

    @Test func failuresSayWhatIsInTheWay() throws {
        let light = try type(
            """
            version: 2
            migrate: { 1: { set: { brightness: { "+": [{ var: state.level }, 1] } }, unset: [gone] } }
            """)
        for (state, words) in [
            (["level": 1], "in unset gone, gone does not exist"),
            (["gone": 1, "level": "x"], "in set brightness, "),
        ] as [(JSONObject, String)] {
            do {
                let made = try light.migrate(state, from: 1)
                Issue.record("\(made)")
            } catch {
                #expect(
                    error.message.contains("the step from version 1 to 2 fails: \(words)"), "\(error.message)"
                )
            }
        }
    }

    /// A step has a budget, as an action has.
    @Test func stepsAreBounded() throws {
        let light = try type(
            """
            version: 2
            migrate: { 1: { set: { brightness: { reduce: [{ var: state.all }, { "+": [1, { reduce: [{ literal: [1,2,3,4,5,6,7,8,9,10] }, { "+": [{ var: current }, 1] }, 0] }] }, 0] } } } }
            """)
        let all = JSON.array(Array(repeating: 0, count: 20_000))
        #expect(throws: PayloadFailure.self) { try light.migrate(["all": all], from: 1) }
        // In bytes as well: each element doubles the text.
        let doubling = try type(
            """
            version: 2
            migrate: { 1: { set: { text: { reduce: [{ var: state.all }, { cat: [{ var: accumulator }, { var: accumulator }] }, x] } } } }
            """)
        let short = try doubling.migrate(["all": .array(Array(repeating: 0, count: 10))], from: 1)
        #expect(short["text"]?.string?.utf8.count == 1024)
        #expect(throws: PayloadFailure.self) {
            try doubling.migrate(["all": .array(Array(repeating: 0, count: 24))], from: 1)
        }
        // And in depth.
        let nesting = try type("version: 2\nmigrate: { 1: { set: { a.b.c: { var: state.deep } } } }")
        var deep: JSON = 1
        for _ in 0..<50 { deep = [deep] }
        #expect(try nesting.migrate(["deep": deep, "a": ["b": [:]]], from: 1)["a"]?["b"]?["c"] == deep)
        for _ in 0..<8 { deep = [deep] }
        #expect(throws: PayloadFailure.self) {
            try nesting.migrate(["deep": deep, "a": ["b": [:]]], from: 1)
        }
    }
}
