import BusDefinitions
import BusJSON
import BusLogic
import BusSource
import BusYAML
import TestFiles
import Testing

/// A definition as it is shown: what its file says, in the order of the file.
struct DefinitionOrderTests {
    private func text(_ yaml: String) throws -> String {
        let type = try DeclaredType(LocatedValue.read(yaml, file: "test.yaml"))
        let text = self.text(of: type)
        #expect(try JSON(parsing: text) == type.definition)
        return text
    }

    private func text(of type: any StateType) -> String {
        let writer = ByteWriter()
        type.appendDefinition(to: writer)
        return writer.text
    }

    @Test func membersActionsAndPayloadsStandAsTheyWereDeclared() throws {
        let text = try text(
            """
            type: lamp
            summary: A lamp.
            schemas: { spot: { properties: { y: { type: number, default: 0 }, x: { type: number, default: 1 } } } }
            state:
              on: { type: boolean, default: false }
              level: { maximum: 9, type: integer, default: 5 }
              at: { schema: spot, default: {} }
              glow: { type: string, default: "" }
            actions:
              turn: { payload: { on: boolean, level: integer, by: string? }, set: { on: = payload.on, glow: = string(state.on), level: = payload.level } }
              "off": { set: { on: false } }
              dim: { set: { level: 1 } }
            computed: { z: = state.level * 2, a: = state.on }
            tests: [{ state: { on: false } }]
            """)
        var rest = text[...]
        for key in [
            "type", "summary", "state", "on", "level", "maximum", "at", "y", "x", "glow", "actions", "turn",
            "payload", "on", "level", "by", "set", "on", "glow", "level", "off", "dim", "computed", "z", "a",
            "expressions",
        ] {
            let place = try #require(
                rest.firstRange(of: "\"\(key)\":"), "\(key) is not behind the one before it: \(text)")
            rest = rest[place.upperBound...]
        }
        #expect(!text.contains("tests") && !text.contains("schemas"))
    }

    @Test func valuesOfAViewStandAsTheyWereDeclared() throws {
        let text = try text(
            "view: all\nof: lamp\nvalues: { on: count(on), lamps: count(), bright: max(level) }\n")
        #expect(text.hasPrefix(#"{"type":"all","view":{"of":"lamp","values":{"on":"#), "\(text)")
        let state = try #require(text.components(separatedBy: #""state":{"#).last)
        let places = ["on", "lamps", "bright"].compactMap { state.firstRange(of: "\"\($0)\":")?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
    }

    /// A log may have a view that does not name its language; a copy of the states that it makes does.
    @Test func viewsAreReadAlikeWithAndWithoutTheirLanguage() throws {
        let written: JSON = [
            "view": "all", "of": "lamp", "values": ["n": "count()"], "computed": ["many": "n > 2"],
        ]
        let type = try DeclaredType(definition: written)
        let copied = try DeclaredType(definition: JSON(parsing: text(of: type)))
        #expect(type.definition == copied.definition && type.definition["expressions"] == "cel")
        var budget = Budget.unlimited
        for type in [type, copied] {
            #expect(type.viewState([3], spending: &budget)["many"] == true)
        }
    }

    /// Order decides what an action writes where two writes meet; then its definition has a list, which is shown as it is.
    @Test func listsOfWritesAreShown() throws {
        let text = try text(
            """
            type: t
            initial: { b: {}, a: 0 }
            actions: { go: { payload: { key: string }, set: { "b.{payload.key}": 1, "b.a": 2, a: 3 } } }
            """)
        #expect(text.contains(#"[{"b.{payload.key}":1},{"b.a":2},{"a":3}]"#), "\(text)")
        #expect(text.hasPrefix(#"{"type":"t","initial":{"b":{},"a":0}"#), "\(text)")
    }

    @Test func samplesSayTheSameInBothForms() throws {
        for type in try TypeCatalog(directory: Repository.sampleTypes).types {
            #expect(try JSON(parsing: text(of: type)) == type.definition)
            #expect(text(of: type).hasPrefix(#"{"type":"\#(type.name)""#))
            // What comes from the bus or a log has lost its order, and means the same.
            let again = try DeclaredType(definition: JSON(parsing: text(of: type)))
            #expect(
                try again.definition == type.definition && JSON(parsing: text(of: again)) == type.definition)
        }
    }
}
