import BusDefinitions
import BusJSON
import BusLogic
import BusSource
import BusYAML
import Foundation
import TestFiles
import Testing

/// All types of a bus together.
struct TypeCatalogTests {
    private func catalog(_ files: [String: String]) throws -> TypeCatalog {
        try TypeCatalog(files.map { .init(name: $0.key, bytes: Array($0.value.utf8)) })
    }

    private func error(_ files: [String: String]) throws -> SourceError {
        try #require(#expect(throws: SourceError.self) { try catalog(files) })
    }

    /// Four times as many files take four times as long, and not sixteen times, though each waits for another and an action of all of
    /// them takes a payload that it does not read.
    @Test func loadingIsLinear() throws {
        func files(_ count: Int) -> [TypeCatalog.File] {
            (0..<count).map { number in
                let text = """
                    type: lamp\(number)
                    \(number > 0 ? "waitFor: [lamp\(number - 1)]" : "summary: The first one.")
                    state: { on: { type: boolean, default: false }, level: { type: integer, minimum: 0, default: 0 } }
                    computed: { isBright: on && level > 60 }
                    actions:
                      dim: { payload: { to: integer, by: string }, set: { level: = payload.to } }
                      flip: { toggle: [on] }
                    """
                return TypeCatalog.File(name: "\(number).yaml", bytes: Array(text.utf8))
            }
        }
        func cost(_ count: Int) throws -> Double {
            let files = files(count)
            var least = Double.infinity
            for _ in 0..<3 {
                let start = clock()
                let catalog = try TypeCatalog(files)
                least = min(least, Double(clock() - start) / Double(CLOCKS_PER_SEC))
                #expect(catalog.types.count == count)
            }
            return least
        }
        let (few, many) = (try cost(250), try cost(1000))
        #expect(many < 10 * few, "250 files take \(few) s, 1000 take \(many) s")
        print("1000 type files: \(many) s")
    }

    @Test func typesAreSortedByName() throws {
        let types = try catalog([
            "b.yaml": "type: alpha\ninitial: {}",
            "a.json": #"{"type":"zulu","initial":{},"waitFor":["alpha"]}"#,
        ]).types
        #expect(types.map(\.name) == ["alpha", "zulu"])
    }

    @Test func aNameCanBeTakenOnce() throws {
        let error = try error([
            "a.yaml": "type: x\ninitial: {}", "b.yaml": "summary: s\ntype: x\ninitial: {}",
        ])
        #expect(error.description == "b.yaml:2:7: The type x is defined in a.yaml too; rename one of them.")
    }

    @Test func waitForNamesTypesThatExist() throws {
        let error = try error([
            "a.yaml": "type: session\ninitial: {}", "b.yaml": "type: x\ninitial: {}\nwaitFor:\n  - sesion",
        ])
        #expect(
            error.description
                == "b.yaml:4:5: waitFor names sesion, which is not a type; did you mean `session`?")
    }

    /// What decides about a commit that is kept is kept, too: directly, by a view, and by a view of a view.
    @Test func keptTypesDoNotWaitForOnesThatAreKeptLess() throws {
        let files = [
            "beat.yaml": "type: beat\nlog: { keep: none }\ninitial: { n: 0 }",
            "view.yaml": "view: beats\nof: [door, beat]\nvalues: { n: count() }",
            "top.yaml": "view: top\nof: beats\nvalues: { n: count() }",
            "door.yaml": "type: door\ninitial: { n: 0 }",
        ]
        for (name, what) in [
            ("beat", "of which the log keeps less"),
            ("beats", "which reads beat, of which the log keeps less"),
            ("top", "which reads beat, of which the log keeps less"),
        ] {
            let waiting = "type: lamp\nwaitFor: [\(name)]\ninitial: {}"
            #expect(
                try error(files.merging(["lamp.yaml": waiting]) { $1 }).description
                    == "lamp.yaml:2:11: lamp waits for \(name), \(what): what lamp does could not be repeated from the log. Write log: { keep: none } in lamp too, or keep: all in beat."
            )
            let less = waiting + "\nlog: { keep: none }"
            #expect(try catalog(files.merging(["lamp.yaml": less]) { $1 }).types.count == 5)
        }
        // What is kept less may wait for what is kept.
        #expect(
            try catalog([
                "a.yaml": "type: a\ninitial: {}",
                "b.yaml": "type: b\nlog: { keep: none }\nwaitFor: [a]\ninitial: {}",
            ])
            .types.count == 2)
    }

    /// What a type waits for is kept at least as long: what it does is repeated from where its own past begins.
    @Test(arguments: [
        ("keep: latest", "keep: latest", true), ("keep: none", "keep: latest", false),
        ("keep: latest", "for: 30d", false), ("for: 30d", "keep: latest", true),
        ("keep: latest", "keep: all", false), ("for: 30d", "keep: all", false),
        ("for: 30d", "for: 30d", true), ("for: 30d", "for: 29d", true), ("for: 30d", "for: 31d", false),
        ("for: 30d", "for: 30d, commits: 9", true), ("keep: all", "commits: 9", true),
        ("commits: 9", "commits: 9", false), ("commits: 9", "keep: all", false),
        ("commits: 9", "for: 1d", false),
        ("commits: 9", "keep: latest", true),
    ])
    func awaitedTypesAreKeptAsLong(awaited: String, waiting: String, isRight: Bool) throws {
        let files = [
            "beat.yaml": "type: beat\nlog: { \(awaited) }\ninitial: { n: 0 }",
            "lamp.yaml": "type: lamp\nlog: { \(waiting) }\nwaitFor: [beat]\ninitial: {}",
        ]
        if isRight {
            #expect(try catalog(files).types.count == 2)
        } else {
            #expect(
                try error(files).description.hasPrefix(
                    "lamp.yaml:3:11: lamp waits for beat, of which the log keeps less"))
        }
        // It may wait for itself.
        #expect(
            try catalog(["a.yaml": "type: a\nlog: { \(waiting) }\nwaitFor: [a]\ninitial: {}"]).types.count
                == 1)
    }

    @Test func typesDoNotWaitInACircle() throws {
        let files = [
            "a.yaml": "type: a\nwaitFor: [b]\ninitial: {}", "b.yaml": "type: b\nwaitFor: [d, c]\ninitial: {}",
            "c.yaml": "type: c\nwaitFor: [a]\ninitial: {}", "d.yaml": "type: d\ninitial: {}",
        ]
        let error = try error(files)
        #expect(
            error.description
                == "a.yaml:2:11: Types wait for each other in a circle: a → b → c → a; break it.")
        #expect(try catalog(["a.yaml": "type: a\nwaitFor: [a]\ninitial: {}"]).types.count == 1)
    }

    @Test func aNativeTypeCanBeWaitedForButNotShadowed() throws {
        let native = try DeclaredType(definition: ["type": "native", "initial": [:]])
        let file = { (text: String) in [TypeCatalog.File(name: "a.yaml", bytes: Array(text.utf8))] }
        let catalog = try TypeCatalog(file("type: a\nwaitFor: [native]\ninitial: {}"), beside: [native])
        #expect(catalog.types.map(\.name) == ["a"])
        #expect(throws: SourceError.self) {
            try TypeCatalog(file("type: native\ninitial: {}"), beside: [native])
        }
    }

    @Test func aDirectoryIsReadWithoutWhatIsNoDefinition() throws {
        let place = TemporaryDirectory()
        let directory = place.path
        for (name, text) in [
            ("a.yaml", "type: a\ninitial: {}"), ("b.yml", "type: b\ninitial: {}"),
            ("c.json", #"{"type":"c","initial":{}}"#), ("README.md", "nothing"), (".hidden.yaml", "}"),
            ("d.yaml~", "}"),
        ] {
            try place.write(name, text)
        }
        #expect(try TypeCatalog(directory: directory).types.map(\.name) == ["a", "b", "c"])
        try place.write("e.yaml", "type: e\ninitial: [}")
        let error = #expect(throws: SourceError.self) { try TypeCatalog(directory: directory) }
        #expect(error?.file == "\(directory)/e.yaml")
        #expect(error?.line == 2)
        #expect(throws: SourceError.self) { try TypeCatalog(directory: "\(directory)/gone") }
    }

    private static let address =
        "schemas:\n  address: { properties: { street: string, zip: { schema: zip } }, required: [street] }\n"
    private static let zip = "type: zips\ninitial: {}\nschemas: { zip: { minLength: 4, default: '3000' } }\n"
    private static let person =
        "type: person\nstate: { home: { schema: address, nullable: true, default: null } }\nactions:\n"
        + "  move: { payload: { to: { items: { schema: address } } }, set: { home: \"= payload.to[0]\" } }\n"

    /// What files call by names in `schemas` is for all of them, and definitions stand for themselves.
    @Test func schemasAreSharedByFiles() throws {
        let place = TemporaryDirectory()
        try place.write("shared.yaml", Self.address)
        try place.write("zips.yaml", Self.zip)
        try place.write("person.yaml", Self.person)
        let catalog = try TypeCatalog(directory: place.path)
        #expect(catalog.types.map(\.name) == ["person", "zips"])
        let address: JSON = [
            "properties": ["street": "string", "zip": ["minLength": 4, "default": "3000"]],
            "required": ["street"],
        ]
        let definition = catalog.types[0].definition
        #expect(definition["actions"]?["move"]?["payload"] == ["to": ["items": address]])
        #expect(definition["state"]?["home"]?["required"] == ["street"])
        #expect(
            definition["state"]?["home"]?["schema"] == nil && catalog.types[1].definition["schemas"] == nil)
        #expect(try DeclaredType(definition: definition).definition == definition)
        #expect(try TypeCatalog.definition(in: place.path + "/person.yaml") == definition)
        // A reload sees what changed in the other file.
        try place.write("zips.yaml", Self.zip.replacing("4", with: "5"))
        var errors: [SourceError] = []
        _ = TypeCatalog(directory: place.path, since: catalog, &errors)
        #expect(
            errors.contains { $0.message == "The default of zip must have at least 5 characters, not 4." })
    }

    @Test(arguments: [
        (
            "person.yaml:2:26: adress is not in the schemas of any file; did you mean `address`?",
            [
                "person.yaml": person.replacing("home: { schema: address", with: "home: { schema: adress"),
                "s.yaml": "schemas: { address: string }",
            ]
        ),
        (
            "person.yaml:2:26: address is not in the schemas of any file; no file has schemas.",
            ["person.yaml": "type: person\nstate: { home: { schema: address, default: x } }"]
        ),
        (
            "b.yaml:1:12: The schema address is in DIRECTORY/a.yaml, too; rename one of them.",
            ["a.yaml": "schemas: { address: string }", "b.yaml": "schemas: { address: integer }"]
        ),
        (
            "a.yaml:1:41: The schemas a → b → a contain each other in a circle, so no value fits; break it.",
            ["a.yaml": "schemas: { a: { items: { schema: b } }, b: { items: { schema: a } } }"]
        ),
        ("a.yaml:1:17: strin is not a type; did you mean `string`?", ["a.yaml": "schemas: { a:   strin }"]),
        ("a.yaml:1:10: schemas must be an object, not a list.", ["a.yaml": "schemas: []"]),
    ])
    func aWrongSchemaIsToldWithItsPlace(_ message: String, _ files: [String: String]) throws {
        let found = try mistakes(files)
        #expect(
            found.contains(message) || found.contains { $0.hasSuffix(message.drop { $0 != " " }) }, "\(found)"
        )
    }

    /// Schemas in schemas can't grow without bounds.
    @Test func schemasOfSchemasStaySmall() throws {
        var text = "schemas:\n  s0: string\n"
        for number in 1...12 {
            let reference = "{ schema: s\(number - 1) }"
            text +=
                "  s\(number): { properties: { a: \(reference), b: \(reference), c: \(reference), d: \(reference) } }\n"
        }
        text += "type: t\nstate: { x: { schema: s12, default: {} } }\n"
        #expect(try mistakes(["a.yaml": text]).contains { $0.contains("A type has at most 10000 schemas") })
    }

    private func mistakes(_ files: [String: String]) throws -> [String] {
        let place = TemporaryDirectory()
        for (name, text) in files { try place.write(name, text) }
        var errors: [SourceError] = []
        _ = TypeCatalog(directory: place.path, &errors)
        return errors.map {
            String($0.description.dropFirst(place.path.count + 1)).replacing(place.path, with: "DIRECTORY")
        }
    }

    @Test func allMistakesOfAllFilesAreFoundInOrder() throws {
        let wrong =
            "type: §\ninitial: { on: false }\nwaitFor: [none]\nactions:\n  a: { when: true, set: { onn: 1 } }\n"
        let found = try mistakes([
            "b.yaml": wrong.replacing("§", with: "b"), "a.yaml": wrong.replacing("§", with: "a"),
            "c.yaml": "type: [}", "d.yaml": "type: d\ninitial: {}\nwaitFor: [b, session]",
            "e.yaml": "type: a\ninitial: {}",
        ])
        let places = found.map { $0.prefix { $0 != " " } }
        #expect(
            places == [
                "a.yaml:5:14:", "a.yaml:5:27:", "b.yaml:5:14:", "b.yaml:5:27:", "c.yaml:1:8:", "e.yaml:1:7:",
            ],
            "\(found)")
    }

    /// A type may be waited for though its own file is wrong; only a file without a name could be of any type.
    @Test func waitForIsCheckedBesideOtherMistakes() throws {
        let files = [
            "a.yaml": "type: session\ninitial: { x: 1 }\nactions: { a: { toggle: [y] } }",
            "b.yaml": "type: b\ninitial: {}\nwaitFor: [session, sesion]",
        ]
        #expect(
            try mistakes(files) == [
                "a.yaml:3:26: y is not in initial; valid here: `x`. A new member is declared there, and one that the payload "
                    + "names is written as \"{payload.NAME}\".",
                "b.yaml:3:20: waitFor names sesion, which is not a type; did you mean `session`?",
            ])
    }

    /// A dispatch to every type gives each of them the same payload, so all of them have to take it.
    @Test func aPayloadMemberMayBeThereForAnotherType() throws {
        let session =
            "type: session\ninitial: { user: x }\nactions:\n  in: { payload: { user: string }, set: { user: { var: payload.user } } }"
        let greeting =
            "type: greeting\ninitial: { text: x }\nactions:\n  in: { payload: { user: string }, set: { text: hello } }"
        #expect(try mistakes(["session.yaml": session, "greeting.yaml": greeting]) == [])
        let alone = try mistakes(["greeting.yaml": greeting])
        #expect(
            alone.count == 1 && alone[0].hasPrefix("greeting.yaml:4:20: payload.user is never read"),
            "\(alone)")
        // A reload finds the same as a start, though only the other file has changed.
        let place = TemporaryDirectory()
        try place.write("session.yaml", session)
        try place.write("greeting.yaml", greeting)
        let first = try TypeCatalog(directory: place.path)
        try place.write("session.yaml", "type: session\ninitial: {}")
        var errors: [SourceError] = []
        _ = TypeCatalog(directory: place.path, since: first, &errors)
        #expect(errors.count == 1)
    }

    @Test func fiftyMistakesAreShownAndTheOthersCounted() throws {
        let actions = (0..<70).map { "  a\($0): { set: { y\($0): 1 } }\n" }.joined()
        var errors: [SourceError] = []
        _ = DeclaredType.load(
            try LocatedValue.read("type: t\ninitial: {}\nactions:\n\(actions)", file: "t"), &errors)
        #expect(errors.count == 70 && errors.lines.count == 51)
        #expect(errors.lines[49].hasPrefix("t:53:") && errors.lines[50] == "and 20 more.")
        #expect(errors.prefix(50).map { $0 }.lines.count == 50)
        let place = TemporaryDirectory()
        try place.write("t.yaml", "type: t\ninitial: {}\nactions:\n\(actions)")
        let refusal = #expect(throws: TypeCatalog.Refusal.self) { try TypeCatalog.load(place.path) }
        #expect(refusal?.lines.count == 51)
    }

    /// Reading a directory again finds what reading it for the first time would, whatever was found before.
    @Test func aDirectoryIsReadAgain() throws {
        let place = TemporaryDirectory()
        func read(since earlier: TypeCatalog?) -> (TypeCatalog, [String]) {
            var errors: [SourceError] = []
            let catalog = TypeCatalog(directory: place.path, since: earlier, &errors)
            return (catalog, errors.map(\.description))
        }
        let contents: [(file: String, text: String)] = [
            ("a.yaml", "type: a\ninitial: { count: 0 }"), ("b.yaml", "type: b\ninitial: {}\nwaitFor: [a]"),
            ("a.yaml", "type: a\ninitial: { count: 1 }"), ("c.yaml", "type: a\ninitial: {}"),
            ("c.yaml", "type: c\ninitial: [}"), ("c.yaml", "type: c\ninitial: {}"),
            ("a.yaml", "type: d\ninitial: {}"), ("a.yaml", "type: a\ninitial: { count: 0 }"),
        ]
        var catalog: TypeCatalog?
        for (file, text) in contents {
            try place.write(file, text)
            let (again, errors) = read(since: catalog)
            let (fresh, freshErrors) = read(since: nil)
            #expect(errors == freshErrors)
            #expect(again.types.map(\.definition) == fresh.types.map(\.definition))
            catalog = again
        }
        #expect(catalog?.types.map(\.name) == ["a", "b", "c"])
    }
}
