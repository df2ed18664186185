import BusDefinitions
import BusSource
import Testing

/// Mistakes in views that only show beside the types that these read: each has its place, and says what to write.
struct ViewMistakeTests {
    private static let lamp = """
        type: lamp
        state:
          on: { type: boolean, default: false }
          level: { type: integer, default: 50 }
          mode: { enum: [auto, manual], default: auto }
          log: { type: array, items: string, default: [] }
        computed: { bright: on && level > 60 }
        """
    private static let door = """
        type: door
        state: { on: { type: boolean, default: false }, level: { type: string, default: low } }
        """

    private func errors(_ views: [String]) -> [SourceError] {
        let files = [Self.lamp, Self.door] + views
        do throws(SourceError) {
            _ = try TypeCatalog(
                files.enumerated().map { .init(name: "file-\($0).yaml", bytes: Array($1.utf8)) })
            return []
        } catch {
            return [error]
        }
    }

    private func view(_ body: String, of types: String = "lamp") -> String {
        "view: glance\nof: \(types)\n\(body)\n"
    }

    @Test(arguments: [
        ("values: { n: avg(levle) }", 3, "line 1, column 5: lamp has no member levle; did you mean `level`?"),
        ("values: { n: avg(state.levle) }", 3, "lamp has no member levle; did you mean `level`?"),
        ("values: { n: avg(mode) }", 3, "line 1, column 5: avg needs a number, and mode is a text."),
        ("values: { n: counts(log) }", 3, "counts needs"),
        ("values: { n: any(level) }", 3, "any needs true or false, and level is an integer."),
        ("values: { n: count(level + 1) }", 3, "count needs true or false"),
        ("where: level\nvalues: { n: count() }", 3, "where needs true or false, and level is an integer."),
        ("by: log\nvalues: { n: count() }", 3, "by needs"),
        ("values: { n: sum(payload.x) }", 3, "payload is not there in a view, which reads"),
        ("values: { n: 'sum(stores[\"lamp/a\"].level)' }", 3, "stores is not there in a view"),
        ("values: { n: max(size(log)) , m: max(size(lgo)) }", 3, "did you mean `log`?"),
    ])
    func anExpressionIsHeldAgainstTheTypeThatItReads(
        _ body: String, _ line: Int, _ message: String
    ) throws {
        let found = try #require(errors([view(body)]).first)
        #expect(found.line == line && found.column > 0 && found.file == "file-2.yaml", "\(found)")
        #expect(found.message.contains(message), "\(found)")
        #expect(found.message.hasSuffix(".") || found.message.hasSuffix("?"), "\(found)")
    }

    @Test(arguments: [
        "values: { n: avg(level), m: count(on && bright), by: counts(mode), names: 'list(store, 3)' }",
        "by: mode\nwhere: bright || level > 5\nvalues: { n: 'max(on ? level : 0)' }",
        "values: { n: sum(double(size(log))), first: 'count(state.?other.orValue(1) == 1)' }",
    ])
    func whatTheTypeHasIsTaken(_ body: String) { #expect(errors([view(body)]) == []) }

    /// Of several types each has to fit.
    @Test func anExpressionIsHeldAgainstEachType() throws {
        #expect(errors([view("values: { n: count(on) }", of: "[lamp, door]")]) == [])
        let found = try #require(errors([view("values: { n: sum(level) }", of: "[lamp, door]")]).first)
        #expect(found.message.contains("sum needs a number, and level is a text."))
    }

    @Test func viewsReadViewsButNotInACircle() throws {
        let over = "view: over\nof: glance\nvalues: { total: sum(n) }\n"
        #expect(errors([view("values: { n: count() }"), over]) == [])
        let unknown = try #require(errors([view("values: { m: count() }"), over]).first)
        #expect(unknown.message.contains("glance has no member n;"), "\(unknown)")
        let circle = try #require(errors([view("values: { n: count() }", of: "[lamp, over]"), over]).first)
        #expect(circle.message == "Views read each other in a circle: glance → over → glance; break it.")
        #expect(circle.line == 2 && circle.file == "file-2.yaml")
    }

    @Test func aTypeThatIsNotThereIsNamed() throws {
        let found = try #require(errors(["view: glance\nof: [lamp, lmap]\nvalues: { n: count() }"]).first)
        #expect(found.message == "of names lmap, which is not a type; did you mean `lamp`?")
        #expect((found.line, found.column) == (2, 12))
    }
}
