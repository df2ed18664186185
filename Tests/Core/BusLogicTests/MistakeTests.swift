import BusLogic
import BusSource
import BusYAML
import Testing

/// Mistakes that people make who write their first types: each is found when the file is loaded, with its line, and the
/// message says what to write instead.
struct MistakeTests {
    typealias Mistake = MarkedMistake

    fileprivate static let lamp = "type: lamp\ninitial: { on: false, brightness: 50, log: [] }\n"
    fileprivate static let shape = """
        type: lamp
        state:
          on: { type: boolean, default: false }
          brightness: { type: integer, minimum: 0, maximum: 100, default: 50 }
          mode: { enum: [auto, manual], default: auto }
          log: { type: array, items: string, default: [] }
          spot: { properties: { x: integer, y: integer }, required: [x], default: { x: 0 } }

        """

    /// An action that redacts the member at a pointer, and does something with its payload.
    private static func redacting(_ pointer: String, _ rest: String) -> String {
        "\(lamp)actions:\n  dim:\n    payload: { pin: string, level: integer? }\n    redact: [§\(pointer)]\n"
            + "    require: [{ if: payload.pin == 'a' }]\n    \(rest)\n"
    }

    static let cases: [Mistake] = [
        // Names
        .action("§set: { brightnes: { var: payload.level } }", "did you mean `brightness`?"),
        .action("§toggle: [onn]", "onn is not in initial; did you mean `on`?"),
        .action("§set: { brightness: { var: state.brightnes } }", "did you mean `brightness`?"),
        .action("§set: { brightness: { val: [state, brightnes] } }", "did you mean `brightness`?"),
        .action("§set: { brightness: { var: [state.brightnes, 0] } }", "did you mean `brightness`?"),
        .action("§set: { brightness: { var: payload.levl } }", "did you mean `level`?"),
        .action("§set: { brightness: { var: level } }", "did you mean `payload.level`?"),
        .action("§set: { brightness: { var: [level, 0] } }", "did you mean `payload.level`?"),
        .action(
            "§when: { equals: [{ var: state.on }, true] }", "equals is not an operator; did you mean `==`?"),
        .action("§when: { =<: [{ var: state.brightness }, 5] }", "did you mean `<=`?"),
        .action("§increments: { brightness: 1 }", "did you mean `increment`?"),
        Mistake("\(lamp)§action: {}\n", "did you mean `actions`?"),
        Mistake("\(lamp)actions:\n  dim: { §payload: { level: int } }\n", "did you mean `integer`?"),
        // What is not kept
        Mistake(
            redacting("/pim", "set: { brightness: 1 }"), "The payload has no member pim; did you mean `pin`?"),
        Mistake(
            redacting("pin", "set: { brightness: 1 }"),
            "pin is not a pointer to a payload member; write /NAME."),
        Mistake(redacting("/level", "set: { brightness: 1 }"), "payload.level is integer; make it a string"),
        Mistake(redacting("/pin", "append: { log: = payload.pin }"), "is read by more than require"),
        Mistake(redacting("/pin", "set: { '{payload.pin}': 1 }"), "is read by more than require"),
        Mistake(redacting("/pin", "when: payload.pin != ''"), "is read by more than require"),
        Mistake(redacting("/pin", "returns: = payload"), "is read by more than require"),
        Mistake(
            "\(lamp)actions:\n  dim: { payload: { pin: string }, redact: [/pin] }\n  on: { timers: { t: { in: 1s, action: §dim, payload: { pin: x } } } }\n",
            "dim has members to redact, which a timer would keep"),
        // Computed values
        Mistake(
            "\(lamp)§computed: { bright: { \">\": [{ var: state.brightness }, 9] } }",
            "write brightness instead of"),
        Mistake(
            "\(lamp)§computed: { bright: { \">\": [{ var: brightnes }, 9] } }", "did you mean `brightness`?"),
        Mistake("\(lamp)§computed: { by: { var: payload.level } }", "here an expression reads the state"),
        Mistake("\(lamp)§computed: { bright: brightnes > 9 }", "line 1, column 1: brightnes is in neither"),
        // Texts instead of expressions
        .action("§set: { brightness: payload.level }", "write = payload.level"),
        .action("§set: { brightness: level }", "write = payload.level"),
        .action("§set: { brightness: state.brightness + 1 }", "write = state.brightness + 1"),
        .action("§set: { brightness: brightness<level }", "write = state.brightness<payload.level"),
        .action("§set: { on: \"!state.on\" }", "write = !state.on"),
        .action("§set: { brightness: size(state.log) }", "write = size(state.log)"),
        .action("§append: { log: \"dimmed to {payload.level}\" }", "Texts are not filled in; write = \"…\""),
        .action(
            "require:\n      - if: { \"<\": [{ var: payload.level }, 9] }\n        §else: at most ${payload.level}",
            "write = \"…\" + string(payload.NAME)"),
        .action(
            "§set: { brightness: { \"+\": [1, = state.brightness] } }",
            "only a text inside of an operation in JsonLogic"),
        // Expressions in text
        .action("§when: state.brightnes <= 50", "line 1, column 7: state.brightnes is in neither"),
        .action("§when: on", "line 1, column 1: on is not data of an action; did you mean `state.on`?"),
        .action("§when: state.on = true", "line 1, column 10: `=` means nothing here; write == to compare."),
        .action("§when: state.on and true", "write && for `and`"),
        .action(
            "§when: = payload.levl > 9",
            "line 1, column 3: payload.levl is not declared; did you mean `level`?"),
        .action("§when: state.brightness + 1", "a condition needs true or false, and state.brightness + 1"),
        .action("§when: \"1 == 1\"", "This condition is always true"),
        .action("§set: { brightness: '= size(state.log, 1)' }", "line 1, column 3: size is written size(a)."),
        .action("§set: { brightness: = sizee(state.log) }", "did you mean `size`?"),
        .action("§set: { brightness: '= max(1, 2)' }", "write math.greatest(a, b)"),
        .action("§set: { brightness: = \"a\" + 1 }", "write string(…) for the text of a number"),
        .action("§set: { brightness: = \"a\" - 1 }", "- needs a number, and \"a\" is a text"),
        .action("§set: { brightness: = \"a\" < 1 }", "< can't compare a text with an integer"),
        .action("§set: { brightness: = state.?on }", "end it with .orValue(VALUE)"),
        .action(
            "§set: { brightness: '= state.log.map(5, 1)' }", "a name is needed here, such as x, and not 5"),
        .action("§set: { brightness: = state.log.map(x) }", "map is written a.map(x, VALUE)"),
        .action("§set: { brightness: = state.log.orValue(1) }", "write a.?b instead of a.b"),
        .action("§set: { brightness: '= {1: 2}' }", "a map's keys are texts"),
        .action("§set: { brightness: = \"a\".matches(\"b\") }", "write contains, startsWith or endsWith"),
        .action("§set: { brightness: = meta.tim }", "did you mean `time`?"),
        .action("§set: { brightness: '= stores[\"user/a\"].x' }", "add waitFor: [user]"),
        Mistake("\(lamp)§computed: { by: payload.level }", "here an expression reads the state"),
        // Conditions
        .action("§when: true", "This condition is always true"),
        .action("§when: { \"==\": [on, true] }", "write { var: state.on }"),
        .action("require:\n      - §if: { \"<=\": [1, 2] }", "This condition is always true"),
        .action("when:\n      - §{ var: state.on }\n      - { var: payload.level }", "write { and:"),
        .action(
            "when:\n      §\"<\": [{ var: payload.level }, 9]\n      \">\": [{ var: payload.level }, 1]",
            "give each operator an object of its own"),
        .action("require:\n      - §\"<=\": [{ var: payload.level }, 9]", "write { if: { <=: … }, else: … }"),
        .action("§require: { if: { var: state.on } }", "require must be a list"),
        // The payload
        Mistake(
            "\(lamp)actions:\n  dim:\n    §payload: { level: integer }\n    set: { brightness: 5 }\n",
            "payload.level is never read"),
        .action(
            "§set: { log: { filter: [{ var: state.log }, { \"<\": [{ var: at }, { var: payload.level }] }] } }",
            "write { val: [[2], payload, level] }"),
        Mistake("\(lamp)actions:\n  dim:\n    §payload: integer\n", "write { NAME: integer }"),
        Mistake(
            "\(lamp)actions:\n  dim:\n    payload:\n      §level: { type: integer, min: 0 }\n",
            "unknown key `min` in payload member; did you mean `minimum`?"),
        Mistake(
            "\(lamp)actions:\n  dim:\n    payload:\n      §level: { type: integer, required: true }\n",
            "a member of a payload without `?` is required"),
        // Indentation
        Mistake(
            "\(lamp)actions:\n  dim:\n  §set: { brightness: 5 }\n",
            "write it in the action dim, indented further"),
        Mistake(
            "\(lamp)§require: [{ if: { var: state.on } }]\nactions: {}\n", "require belongs to an action"),
        Mistake(
            "\(lamp)actions:\n§dim:\n  set: { brightness: 5 }\n", "dim is beside actions; write it below"),
        Mistake("\(lamp)actions:\n  dim:\n    §initial: { on: true }\n", "initial belongs to the state type"),
        .action("§if: { var: state.on }", "write require: [{ if: …, else: … }]"),
        // The forms of writes
        .action("§toggle: on", "Write [on]."), .action("§unset: { log: true }", "Write [log]."),
        .action("§increment: brightness", "write { brightness: VALUE }"),
        // Schemas
        .shaped("§increment: { on: 1 }", "on is a boolean, and increment is for numbers"),
        .shaped("§toggle: [brightness]", "brightness is an integer, and toggle is for booleans; use set"),
        .shaped("§append: { mode: x }", "append is for arrays; use set"),
        .shaped("§set: { brightness: 500 }", "brightness must be at most 100, not 500"),
        .shaped(
            "§set: { brightness: { var: payload.level } }",
            "brightness must be an integer, and payload.level is a string"),
        .shaped("§set: { mode: fast }", "mode must be one of auto, manual, not fast"),
        .shaped("§append: { log: 5 }", "must be a string, not an integer"),
        .shaped("§unset: [brightness]", "nullable: true"),
        .shaped("§unset: [spot.x]", "spot.x can't be unset"),
        .shaped("§set: { spot.z: 1 }", "spot has no member z"),
        .shaped("§set: { spot: { object: { y: 1 } } }", "spot must have a member x"),
        .shaped("§set: { brightness.value: 1 }", "which has no members; leave .value out"),
        .shaped("§set: { brightness: { var: state.log.length } }", "write { length: { var: state.log } }"),
        .shaped("§set: { brightness: { var: state.spot.z } }", "state.spot has no member z"),
        .shaped("§set: { brightness: = state.spot.z }", "line 1, column 14: state.spot has no member z"),
        .shaped(
            "§set: { brightness: = state.log.length }",
            "state.log is a list, which has no members; write size(state.log)"),
        .shaped(
            "§set: { on: = state.mode == \"atuo\" }", "state.mode is never \"atuo\"; did you mean `auto`?"),
        .shaped(
            "§set: { on: = !state.brightness }", "! needs true or false, and state.brightness is an integer"),
        .shaped(
            "§set: { on: = state.brightness in state.mode }",
            "in needs a list or a map, and state.mode is a text"),
        .shaped("§set: { on: '= state.log.all(l, l > 1)' }", "> can't compare a text with an integer"),
        .shaped(
            "§set: { brightness: = string(state.brightness) }",
            "brightness must be an integer, and this value is a string"),
        .shaped(
            "§set: { brightness: '= state.log[\"a\"]' }",
            "state.log is a list, which has no members; write state.log[INDEX]"),
        Mistake("type: lamp\nstate:\n  §on: bool\n", "did you mean `boolean`?"),
        Mistake("type: lamp\nstate:\n  §on: string?\n", "write { type: string, nullable: true }"),
        Mistake("type: lamp\nstate:\n  §on: boolean\n", "on has no value to start with; give it a default"),
        Mistake(
            "type: lamp\nstate: { level: { type: integer, maximum: 9 } }\n§initial: { level: 10 }\n",
            "level must be at most 9, not 10"),
        Mistake(
            "type: lamp\nstate:\n  §level: { type: integer, maximum: 9, default: 10 }\n",
            "The default of level must be at most 9"),
        Mistake(
            "type: lamp\nstate:\n  §level: { type: integer, minLength: 9, default: 1 }\n",
            "it takes minimum, maximum, exclusiveMinimum and exclusiveMaximum"),
        Mistake("type: lamp\nstate:\n  §level: { minimum: 9, maximum: 1, default: 1 }\n", "exchange them"),
        Mistake("type: lamp\nstate:\n  §level: { enum: [], default: 1 }\n", "enum lists no value"),
        Mistake(
            "type: lamp\nstate:\n  §spot: { properties: { x: integer }, required: [y], default: {} }\n",
            "y is not a property of spot"),
        Mistake(
            "type: lamp\nstate:\n  §spot: { properties: { x: integer? }, default: {} }\n",
            "a property that is not in required may be absent"),
        Mistake(
            "type: lamp\nstate:\n  §spot: { properties: { x: { type: integer, default: one } }, default: {} }\n",
            "The default of spot.x must be an integer, not a string."),
        Mistake(
            "type: lamp\nstate:\n  §level: { type: integer, optional: true, default: 1 }\n",
            "nullable: true lets it be null"),
    ]

    @Test(arguments: cases)
    func aMistakeIsFoundWhereItStands(_ mistake: Mistake) throws {
        let found = try MarkedMistake.all(in: mistake.text)
        let line = try mistake.line
        #expect(found.contains { $0.line == line && $0.message.contains(mistake.message) }, "\(found)")
        #expect(found.allSatisfy { ".?".contains($0.message.last ?? " ") }, "\(found)")
        // One mistake, one message.
        #expect(found.count == 1, "\(found)")
    }

    @Test func thereAreManyKinds() { #expect(Self.cases.count > 60) }

    @Test func allMistakesOfAFileAreFoundAtOnce() throws {
        let text = """
            type: Lamp
            inital: {}
            state:
              level: { type: int, default: 5 }
              mode: { type: string, maxLenght: 5, default: auto }
            computed:
              a: { eq: [1, 2] }
              b: { and: [{ nope: 1 }, { "+": [{ neither: 1 }] }] }
            actions:
              dim:
                payload: { level: float, by: { minimum: x } }
                require:
                  - iff: true
                  - if: { var: paylod.level }
                when: { or: [{ foo: 1 }, { bar: 1 }] }
                set: { level: { var: payload.lvl } }
                incremet: {}
              two:
            """
        let lines = try MarkedMistake.all(in: text).map(\.line)
        #expect(lines == [1, 2, 4, 5, 7, 8, 8, 11, 11, 13, 14, 15, 15, 16, 17, 18], "\(lines)")
    }

    /// What looks like a mistake and is none, or says that it is meant.
    @Test(arguments: [
        "set: { brightness: { var: { literal: state.other } } }",
        "set: { brightness: { val: [state, { literal: other }] } }",
        "set: { log: [{ literal: payload.level }, { literal: \"a <= b\" }] }", "when: { literal: true }",
        "set: { log: [\"Tom & Jerry - 2\", \"state of the art\", \"a - b\", auto, \"5 < x: nice\", 1.5, \"-\"] }",
        "set: { log: { var: payload } }", "set: { log: { var: \"\" } }", "when: { missing: [state.other] }",
        "when: { exists: [state, other] }", "set: { \"{payload.level}\": 1 }",
        "set: { log: { cat: [state., x] } }",
        "set: { brightness: true, on: 5, log: null }", "append: { on: 1 }",
        "set: { on: { object: { var: 1, \"+\": 2 } } }",
        "set: { log: { map: [{ var: state.log }, { var: state.x }] } }",
    ])
    func whatMayBeMeantIsTaken(_ body: String) throws {
        let text = "\(Self.lamp)actions:\n  dim: { payload: { level: integer? }, \(body) }\n"
        #expect(try MarkedMistake.all(in: text) == [])
    }

    /// A pure event has its payload for observers, and so have optional members.
    @Test func whatObserversReadIsTaken() throws {
        let text = """
            type: door
            initial: { open: false }
            actions:
              rang: { payload: { by: string, times: integer } }
              refused: { payload: { by: string }, require: [{ if: { var: state.open } }] }
              open: { payload: { reason: string?, by: { type: string, default: hand } }, set: { open: true } }
            """
        #expect(try MarkedMistake.all(in: text) == [])
    }

    /// What a bus accepted before more mistakes were known comes back from its log.
    @Test func doubtsDoNotMakeALogUnreadable() throws {
        for mistake in Self.cases where mistake.yaml.hasPrefix(Self.lamp) {
            let source = try LocatedValue.read(mistake.text, file: "lamp.yaml")
            guard let type = try? DeclaredType(definition: source.json) else { continue }
            #expect(type.definition == source.json)
        }
        let old = try LocatedValue.read(
            "\(Self.lamp)actions: { dim: { when: true, set: { new: state.on } } }", file: "x")
        #expect(throws: SourceError.self) { try DeclaredType(old) }
        let bench = StoreBench(try DeclaredType(definition: old.json))
        try bench.dispatch("dim")
        #expect(bench.state["new"] == "state.on")
    }
}

extension MarkedMistake {
    /// An action of a lamp without a schema.
    fileprivate static func action(_ body: String, _ message: String) -> MarkedMistake {
        MarkedMistake(
            "\(MistakeTests.lamp)actions:\n  dim:\n    payload: { level: integer? }\n    \(body)\n", message)
    }

    /// An action of a lamp with one.
    fileprivate static func shaped(_ body: String, _ message: String) -> MarkedMistake {
        MarkedMistake(
            "\(MistakeTests.shape)actions:\n  dim:\n    payload: { level: string? }\n    \(body)\n", message)
    }
}
