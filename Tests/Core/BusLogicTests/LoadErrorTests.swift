import BusJSON
import BusLogic
import BusSource
import BusYAML
import Testing

/// A definition that is wrong in any way is refused with its line, and the word that was probably meant.
struct LoadErrorTests {
    typealias Case = MarkedMistake

    private static let head = "type: thing\ninitial: { count: 0, list: [] }\n"

    private static func action(_ body: String, head: String = head) -> String {
        head + "actions:\n  act:\n    payload: { by: integer, on: boolean, who: any }\n    " + body + "\n"
    }

    static let cases: [Case] = [
        Case("§[]", "A state type must be an object, not a list."),
        Case("§initial: {}", "A state type needs a member type; add it."),
        Case("§type: thing", "A state type needs a member initial; add it."),
        Case("type: §Thing\ninitial: {}", "can't be called Thing"),
        Case("type: §{}\ninitial: {}", "type must be a string, not an object."),
        Case("type: §12\ninitial: {}", "type must be a string, not an integer; write it in quotes: \"12\"."),
        Case("type: §\(String(repeating: "a", count: 65))\ninitial: {}", "more than 64 bytes"),
        Case(head + "§actoins: {}", "unknown key `actoins` in state type; did you mean `actions`?"),
        Case(head + "summary: §[]", "summary must be a string, not a list."),
        Case("type: thing\ninitial: §[]", "initial must be an object, not a list."),
        Case("type: thing\ninitial: §", "initial must be an object, not null."),
        Case(head + "waitFor: §session", "waitFor must be a list, not a string."),
        Case(head + "waitFor: [a, §a]", "duplicate type `a`; keep one of them."),
        Case(head + "actions: §[]", "actions must be an object, not a list."),
        Case(head + "actions: { §Act: {} }", "An action can't be called Act"),
        Case(head + "actions: { act: §}", "The action act must be an object, not null."),
        Case(
            head + "actions: { act: { §incremnt: {} } }",
            "unknown key `incremnt` in action; did you mean `increment`?"),
        Case(
            head + "actions: { act: { payload: { by: §int } } }",
            "int is not a payload type; did you mean `integer`?"),
        Case(
            head + "actions: { act: { payload: { by: §quux } } }",
            "valid here: `any`, `boolean`, `integer`, `number`"),
        Case(
            head + "actions: { act: { payload: { by: { type: integer, default: §x } } } }",
            "The default of by must be an integer, not a string."),
        Case(
            head + "actions: { act: { payload: { by: { type: integer, §defualt: 1 } } } }",
            "did you mean `default`?"),
        Case(head + "actions: { act: { payload: { by: §{ default: 1 } } } }", "needs a member type"),
        Case(
            head + "actions: { act: { payload: { by: { type: integer, optional: §1 } } } }", "true or false"),
        Case(action("require: §{}"), "require must be a list, not an object."),
        Case(action("require: [§5]"), "each element of require must be an object"),
        Case(
            action("require: [{ if: true, §esle: no }]"),
            "unknown key `esle` in require; did you mean `else`?"),
        Case(action("require: [§{ else: no }]"), "needs a member if"),
        Case(action("when: { §eq: [1, 1] }"), "eq is not an operator;"),
        Case(
            action("when: { and: [true, { §fitler: [] }] }"),
            "fitler is not an operator; did you mean `filter`?"),
        Case(action("when: { var: §payload.bye }"), "payload.bye is not declared; did you mean `by`?"),
        Case(action("when: { var: [§payload.bye, 1] }"), "payload.bye is not declared; did you mean `by`?"),
        Case(action("when: { §val: [payload, bye] }"), "payload.bye is not declared; did you mean `by`?"),
        Case(head + "actions: { act: { when: { var: §payload.x } } }", "the action declares no payload."),
        Case(action("when: { var: §count }"), "count is not data of an action; did you mean `state.count`?"),
        Case(action("when: { var: §by }"), "by is not data of an action; did you mean `payload.by`?"),
        Case(action("when: { var: §sate.count }"), "sate is not data of an action; did you mean `state`?"),
        Case(action("when: { var: §meta.tiem }"), "meta has no member tiem; did you mean `time`?"),
        Case(action("when: { var: §stores.session/main.user }"), "add waitFor: [session]."),
        Case(
            action("when: { var: §stores.sesion/main }", head: head + "waitFor: [session]\n"),
            "did you mean `session`?"),
        Case(
            action("when: { §val: [stores, { var: payload.who }] }"), "stores can only be read with waitFor"),
        Case(action("when: { var: §stores }"), "stores can only be read with waitFor"),
        Case(action("set: §[count]"), "each element of set must be an object").moved(to: "set: [§count]"),
        Case(action("unset: §count"), "unset must be a list, not a string."),
        Case(action("toggle: [§1]"), "each path of toggle must be a string"),
        Case(action("set: { §count..x: 1 }"), "has an empty segment"),
        Case(action("set: { §'': 1 }"), "has an empty segment"),
        Case(action("set: { §'list.{payload.bye}': 1 }"), "payload.bye is not declared; did you mean `by`?"),
        Case(
            action("set: { §'list.{payload.on}': 1 }"),
            "payload.on is a boolean, and a path takes a string or an integer."),
        Case(action("set: { §'list.x{payload.by}': 1 }"), "is not {payload.NAME}"),
        Case(action("set: { §'list.{state.count': 1 }"), "is not {payload.NAME}"),
        Case(
            action("set: { §\(Array(repeating: "a", count: 33).joined(separator: ".")): 1 }"),
            "more than 32 segments"),
        Case(head + "computed: { §count: 1 }", "count is in initial too"),
        Case(head + "computed: { twice: { §'**': [1] } }", "** is not an operator; did you mean `*`?"),
        Case(
            head + "computed: { §a: { var: b }, b: { var: c }, c: { var: a } }",
            "The computed values a → b → c → a read each other in a circle"),
        Case(head + "computed: { §a: { '!': [{ var: a }] } }", "a → a read each other"),
        Case(head + "computed: { §a: { var: '' }, b: { var: { var: count } } }", "a → b → a"),
        Case(
            action("set: { §twice: 1 }", head: head + "computed: { twice: 1 }\n"),
            "twice is computed and can't be written"),
        Case(
            action("toggle: [§twice.x]", head: head + "computed: { twice: 1 }\n"),
            "twice is computed and can't be written"),
        Case(head + "summary: a\n§summary: b", "duplicate key `summary`; keep one of them."),
    ]

    @Test(arguments: cases)
    func theErrorNamesItsPlace(_ test: Case) throws {
        let (line, column) = (try test.line, try test.column)
        let error = try #require(
            #expect(throws: SourceError.self) {
                try DeclaredType(LocatedValue.read(test.text, file: "thing.yaml"))
            })
        #expect(error.message.contains(test.message), "\(error)")
        // What is empty has its place where the next thing begins.
        if !test.yaml.hasSuffix("§"), !test.yaml.contains("§}") {
            #expect(error.line == line, "\(error)")
            #expect(error.column == column, "\(error)")
        }
        #expect(error.description.hasPrefix("thing.yaml:\(error.line):\(error.column): "))
    }

    @Test func aDefinitionThatIsNoFileIsRefusedToo() {
        let error = #expect(throws: SourceError.self) {
            try DeclaredType(definition: ["type": "thing", "initial": [:], "action": [:]])
        }
        #expect(error?.description == "thing: unknown key `action` in state type; did you mean `actions`?")
    }
}

extension MarkedMistake {
    /// The same with the mark elsewhere.
    func moved(to body: String) -> Self {
        Self(yaml.replacing("set: §[count]", with: body), message)
    }
}
