import BusJSON
import BusLogic
import TestSupport
import Testing

/// Schemas that change what is written: defaults inside of objects, and arrays that drop their oldest elements.
struct SchemaAdjustmentTests {
    private static let club = """
        type: club
        state:
          people:
            values:
              properties:
                name: string
                since: { type: integer, default: 2000 }
                home: { properties: { town: { type: string, default: Bern } }, default: {} }
              required: [name]
            default: {}
          spot: { properties: { x: { type: number, default: 0 }, y: { type: number, default: 1 } }, default: { y: 2 } }
          log: { type: array, maxItems: 3, overflow: dropOldest, default: [] }
          rooms: { values: { items: { properties: { n: { type: integer, default: 7 } } }, maxItems: 2, overflow: dropOldest }, default: {} }
          kind: { const: club }
        actions:
          join: { payload: { id: string, who: object }, set: { "people.{payload.id}": = payload.who } }
          all: { payload: { people: object? }, patch: = payload }
          merge: { payload: { with: object }, merge: { people: = payload.with } }
          literal: { set: { spot: { literal: { x: 5 } }, people: { literal: { ada: { name: Ada } } } } }
          leave: { payload: { id: string, what: string }, unset: ["people.{payload.id}.{payload.what}"] }
          note: { payload: { text: any }, append: { log: = payload.text } }
          twice: { payload: { text: any }, append: [{ log: = payload.text }, { log: = payload.text }] }
          put: { payload: { log: array }, set: { log: = payload.log } }
          room: { payload: { name: string }, set: { "rooms.{payload.name}": [] } }
          enter: { payload: { name: string, who: object }, append: { "rooms.{payload.name}": = payload.who } }
          take:
            payload: { spot: { properties: { x: { type: number, default: 3 }, y: number }, required: [y] } }
            set: { spot: = payload.spot }

        """

    private func bench() throws -> StoreBench {
        let bench = try StoreBench(Self.club)
        let again = try DeclaredType(definition: bench.type.definition)
        #expect(again.definition == bench.type.definition && again.initial == bench.type.initial)
        return StoreBench(again)
    }

    @Test func whatIsLeftOutIsFilledInWhereverAnObjectComesFrom() throws {
        let bench = try bench()
        #expect(bench.state["spot"] == ["x": 0, "y": 2] && bench.state["kind"] == "club")
        let ada: JSON = ["name": "Ada", "since": 2000, "home": ["town": "Bern"]]
        try bench.dispatch("join", ["id": "ada", "who": ["name": "Ada"]])
        #expect(bench.state["people"] == ["ada": ada])
        try bench.dispatch("join", ["id": "bo", "who": ["name": "Bo", "since": 5, "home": ["town": "Ulm"]]])
        #expect(bench.state["people"]?["bo"] == ["name": "Bo", "since": 5, "home": ["town": "Ulm"]])
        try bench.dispatch("literal")
        #expect(bench.state["people"] == ["ada": ada] && bench.state["spot"] == ["x": 5, "y": 1])
        try bench.dispatch("all", ["people": ["cy": ["name": "Ada"]]])
        #expect(bench.state["people"] == ["cy": ada])
        try bench.dispatch("merge", ["with": ["dan": ["name": "Ada"], "cy": ["since": .null]]])
        #expect(bench.state["people"] == ["cy": ada, "dan": ada])
        try bench.dispatch("take", ["spot": ["y": 9]])
        #expect(bench.state["spot"] == ["x": 3, "y": 9])
        try bench.dispatch("room", ["name": "hall"])
        try bench.dispatch("enter", ["name": "hall", "who": [:]])
        #expect(bench.state["rooms"] == ["hall": [["n": 7]]])
        #expect(try bench.type.state(["spot": [:]], from: .request)["spot"] == ["x": 0, "y": 1])
    }

    /// What has a default is always there, so that programs may rely on it.
    @Test func whatHasADefaultIsAlwaysThere() throws {
        let bench = try bench()
        try bench.dispatch("join", ["id": "ada", "who": ["name": "Ada"]])
        let message = try bench.rejection(of: "leave", ["id": "ada", "what": "since"]).message
        #expect(message.contains("people.ada must have a member since"))
        #expect(
            try bench.rejection(of: "join", ["id": "x", "who": [:]]).message.contains(
                "must have a member name"))
        #expect(
            try bench.rejection(of: "merge", ["with": ["x": ["name": 5]]]).message.contains(
                "people.x.name must be a string"))
    }

    @Test func anArrayDropsItsOldestElements() throws {
        let bench = try bench()
        for number in 1...5 { try bench.dispatch("note", ["text": .int(number)]) }
        #expect(bench.state["log"] == [3, 4, 5])
        try bench.dispatch("twice", ["text": "a"])
        #expect(bench.state["log"] == [5, "a", "a"])
        // It is what is appended that makes room; a list that is too long is refused.
        #expect(
            try bench.rejection(of: "put", ["log": [1, 2, 3, 4]]).message.contains(
                "log must have at most 3 elements, not 4"))
    }

    /// Any writes to such a type and to one without schemas, whose values are filled in and cut by the plainest code.
    @Test(arguments: 0..<30 as Range<UInt64>)
    func randomWritesComeToWhatAPlainModelSays(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bench = try bench()
        var people: [String: JSON] = [:]
        var log: [JSON] = []
        func filled(_ person: JSON) -> JSON {
            guard var person = person.object else { return person }
            person["since"] = person["since"] ?? 2000
            person["home"] = person["home"] ?? [:]
            if var home = person["home"]?.object {
                home["town"] = home["town"] ?? "Bern"
                person["home"] = .object(home)
            }
            return .object(person)
        }
        for step in 0..<80 {
            let id = ["a", "b"].randomElement(using: &generator) ?? "a"
            var person: JSONObject = ["name": "x"]
            if generator.oneIn(2) { person["since"] = .int(step) }
            if generator.oneIn(2) { person["home"] = generator.oneIn(2) ? [:] : ["town": "Ulm"] }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                try bench.dispatch("join", ["id": .string(id), "who": .object(person)])
                people[id] = filled(.object(person))
            case 1:
                var patch = person
                if generator.oneIn(2) { patch["since"] = .null }
                try bench.dispatch("merge", ["with": [id: .object(patch)]])
                var merged = people[id]?.object ?? [:]
                for member in patch.members {
                    if member.key == "home", var home = merged["home"]?.object, let new = member.value.object
                    {
                        for inner in new.members { home[inner.key] = inner.value }
                        merged["home"] = .object(home)
                    } else {
                        merged[member.key] = member.value.isNull ? nil : member.value
                    }
                }
                people[id] = filled(.object(merged))
            default:
                let isTwice = generator.oneIn(2)
                try bench.dispatch(isTwice ? "twice" : "note", ["text": .int(step)])
                log += isTwice ? [.int(step), .int(step)] : [.int(step)]
                log = Array(log.suffix(3))
            }
            #expect(bench.state["log"] == .array(log))
            let expected = people.reduce(into: JSONObject()) { $0[$1.key] = $1.value }
            #expect(bench.state["people"] == .object(expected), "Seed \(seed), step \(step)")
        }
        // And the undo log takes all of it back.
        bench.undoLog.undo(to: 0, in: &bench.state)
        #expect(bench.state == bench.type.initial)
    }

    @Test(arguments: [
        MarkedMistake(
            "x: { type: array, overflow: §dropNewest, maxItems: 1, default: [] }",
            "invalid value `dropNewest` for `overflow`; did you mean `dropOldest`?"
        ),
        MarkedMistake(
            "x: { type: array, overflow: §dropOldest, default: [] }",
            "overflow says what happens beyond maxItems, which x lacks; add it."),
        MarkedMistake(
            "x: { type: string, §overflow: dropOldest, default: '' }",
            "overflow is for arrays, and x is a string; it takes minLength and maxLength."),
        MarkedMistake(
            "x: { §minItems: 3, maxItems: 2, default: [] }",
            "minItems is more than maxItems, so nothing fits x; exchange them."),
        MarkedMistake(
            "x: { type: integer, §minItems: 3, default: 1 }",
            "minItems is for arrays, and x is an integer; it takes minimum, maximum, exclusiveMinimum and exclusiveMaximum."
        ),
        MarkedMistake(
            "x: { §minimum: 3, exclusiveMaximum: 3, default: 1 }",
            "No number is between the bounds of x; widen them."),
        MarkedMistake("x: { exclusiveMinimum: §true, default: 1 }", "exclusiveMinimum must be a number"),
        MarkedMistake("x: { type: array, uniqueItems: §1, default: [] }", "true or false"),
        MarkedMistake(
            "x: { type: array, uniqueItems: true, default: §[1, 1] }",
            "The default of x must have no element twice"),
        MarkedMistake("x: { type: array, §uniqeItems: true, default: [] }", "did you mean `uniqueItems`?"),
        MarkedMistake("x: { type: string, const: §5 }", "The const of x must be a string, not an integer."),
        MarkedMistake("x: { §enum: [a], const: a }", "x has either const or enum; leave one out."),
        MarkedMistake("x: { const: a, default: §b }", "The default of x must be a, not b."),
        MarkedMistake(
            "x: { type: [string, §strin], default: a }", "strin is not a type; did you mean `string`?"),
        MarkedMistake(
            "x: { type: [string, §null], default: a }", "null is a value here; write \"null\", in quotes."),
        MarkedMistake("x: { type: [string, §string], default: a }", "duplicate type `string`"),
        MarkedMistake("x: { type: [string, §any], default: a }", "any takes every value, so it stands alone"),
        MarkedMistake("x: { type: §[\"null\"], default: null }", "type lists no type but null"),
        MarkedMistake(
            "x: { type: [string, boolean], §minimum: 1, default: a }",
            "minimum is for numbers, and x is a string or a boolean; it takes minLength and maxLength."),
        MarkedMistake(
            "x: { properties: { a: { type: string, default: §1 } }, default: {} }",
            "The default of x.a must be a string, not an integer."),
    ])
    func mistakesAreFoundAtLoad(_ mistake: MarkedMistake) throws {
        try mistake.expectMessage { "type: t\nstate:\n  \($0)\n" }
    }

    /// What a union or a list without repetition may never be written with is found before it is.
    @Test(arguments: [
        ("set: { u: 1 }", "u must be a string, a boolean or null, not an integer."),
        ("increment: { u: 1 }", "u is a string, a boolean or null, and increment is for numbers; use set."),
        ("append: { n: 1 }", "n is an integer, and append is for arrays; use set."),
        ("set: { c: other }", "c must be fixed, not other."),
        ("set: { p: { } }", "p must have a member a."),
    ])
    func aWriteThatCanNotFitIsRefusedAtLoad(_ body: String, _ message: String) throws {
        let text = """
            type: t
            state:
              u: { type: [string, boolean, "null"], default: null }
              n: { type: integer, exclusiveMinimum: 0, default: 1 }
              c: { const: fixed }
              p: { properties: { a: string, b: { type: integer, default: 1 } }, required: [a], default: { a: x } }
            actions: { act: { \(body) } }
            """
        #expect(try MarkedMistake.all(in: text).map(\.message) == [message])
    }
}
