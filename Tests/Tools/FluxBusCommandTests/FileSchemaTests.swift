import BusJSON
import BusLogic
import BusSource
import BusYAML
import FluxBusCommand
import Foundation
import TestFiles
import TestServer
import Testing

/// Python with jsonschema, which is what yaml-language-server does with a schema.
private enum Python {
    private static let path = "/usr/bin/python3"
    static let hasSchemas = (try? run("import jsonschema", "")) != nil

    /// What a program in Python prints; `input` is a file whose name is its argument. Nil where it fails.
    static func run(_ program: String, _ input: String) throws -> String? {
        guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
        let directory = TemporaryDirectory()
        let file = try directory.write("input", input)
        let outcome = try RunningProgram([path, "-c", program, file]).wait()
        return outcome.status == 0 ? outcome.output : nil
    }
}

/// The schemas that editors use, as Python's jsonschema understands them: they take what the bus takes, and see the mistakes that can be
/// seen without the bus.
@Suite(
    .enabled(
        if: Python.hasSchemas,
        "jsonschema for Python is missing; apt-get install python3-jsonschema installs it."))
struct FileSchemaTests {
    /// A file that is held against a schema.
    private struct Sample {
        let name: String
        let schema: FileSchema
        let content: JSON

        init(_ name: String, _ schema: FileSchema, _ text: String) throws {
            (self.name, self.schema) = (name, schema)
            content = try LocatedValue.read(text, file: "\(name).yaml").json
        }
    }

    /// What the schemas say of samples: nothing of one that is valid.
    private func mistakes(in samples: [Sample]) throws -> [String?] {
        var documents = JSONObject()
        for kind in FileSchema.allCases { documents[kind.rawValue] = try JSON(parsing: kind.text) }
        let lines = samples.map { JSON.array([.string($0.schema.rawValue), $0.content]).encoded + "\n" }
        let program = """
            import json, sys
            from jsonschema import Draft7Validator
            file = open(sys.argv[1], encoding="utf-8")
            schemas = json.loads(file.readline())
            for schema in schemas.values(): Draft7Validator.check_schema(schema)
            validators = {name: Draft7Validator(schema) for name, schema in schemas.items()}
            for line in file:
                name, content = json.loads(line)
                errors = [f"{list(e.absolute_path)}: {e.message}" for e in validators[name].iter_errors(content)]
                print(json.dumps(errors[0] if errors else None))
            """
        let printed = try Python.run(program, JSON.object(documents).encoded + "\n" + lines.joined())
        let answers = try #require(printed).split(separator: "\n")
        try #require(answers.count == samples.count)
        return try answers.map { try JSON(parsing: String($0)).string }
    }

    @Test func takeEverySampleAndEveryExampleOfThePages() throws {
        var samples: [Sample] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: Repository.sampleTypes).sorted() {
            samples.append(try Sample(name, .type, Repository.text("config/types/\(name)")))
        }
        samples.append(try Sample("access", .access, Repository.text("config/access.yaml")))
        samples.append(try Sample("configuration", .config, Repository.text("config/fluxbusd.yaml")))
        for (kind, page) in [(FileSchema.effect, "Effects"), (.hook, "HTTP")] {
            let folder = "config/\(kind.rawValue)s"
            for name in try FileManager.default.contentsOfDirectory(
                atPath: Repository.root.appendingPathComponent(folder).path
            ).sorted() {
                samples.append(try Sample(name, kind, Repository.text("\(folder)/\(name)")))
            }
            let blocks = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/\(page).md").blocks(
                kind.rawValue)
            for block in blocks { samples.append(try Sample("\(page).md:\(block.line)", kind, block.text)) }
        }
        samples.append(try Sample("new", .type, TypesNewCommand.text(for: "lamp")))
        let logic = "Sources/Core/BusLogic/BusLogic.docc/"
        for page in ["README.md", logic + "Types.md"] {
            for block in try MarkdownPage(page).blocks where ["types", "yaml"].contains(block.kind) {
                samples.append(try Sample("\(page):\(block.line)", .type, block.text))
            }
        }
        let server = "Sources/Daemon/BusServer/BusServer.docc/"
        for page in ["Clustering.md", "Operating.md", "Securing.md"] {
            for block in try MarkdownPage(server + page).blocks("yaml") {
                samples.append(try Sample("\(page):\(block.line)", .config, block.text))
            }
        }
        #expect(samples.count >= 36)
        for (sample, mistake) in zip(samples, try mistakes(in: samples)) {
            #expect(mistake == nil, "\(sample.name): \(mistake ?? "")")
        }
    }

    @Test func seeTheMistakesThatAreMarkedInTheTable() throws {
        let samples = try MistakeTable.read().filter(\.isSchemas).map { try Sample($0.title, .type, $0.text) }
        #expect(samples.count >= 45)
        for (sample, mistake) in zip(samples, try mistakes(in: samples)) {
            #expect(mistake != nil, "\(sample.name)")
        }
    }

    @Test func seeMistakesInConfigurationsRulesAndTests() throws {
        let samples = [
            try Sample("listen", .config, "listen: [{ unix: /a, port: 5 }]"),
            try Sample("sync", .config, "log: { path: a, sync: often }"),
            try Sample("limit", .config, "limits: { lines: 5 }"),
            try Sample("may", .access, "roles: { a: [everyone] }\nrules: [{ role: a, may: reed }]"),
            try Sample("who", .access, "roles: { a: [bob] }\nrules: []"),
            try Sample("no type", .test, "tests: [{ dispatch: a, unchanged: true }]"),
            try Sample(
                "a server", .effect,
                "effect: a\non: { action: b, of: c/* }\ndo: { post: { url: 'https://{name}/' } }"),
            try Sample(
                "two effects", .effect,
                "effect: a\non: { action: b, of: c/* }\ndo: { run: [/a], start: b.service }"),
            try Sample("no pattern", .effect, "effect: a\non: { action: b, of: c }\ndo: { run: [/a] }"),
            try Sample(
                "a rate", .effect,
                "effect: a\non: { action: b, of: c/* }\ndo: { run: [/a] }\nlimit: { rate: 10 }"),
            try Sample("a check", .hook, "hook: a\ndispatch: { store: b/c, action: d }"),
            try Sample(
                "two checks", .hook,
                "hook: a\ncheck: { token: { file: b }, signature: { header: C, file: b } }\ndispatch: { store: d/e, action: f }"
            ),
            try Sample(
                "one key for all", .hook,
                "hook: a\ncheck: { token: { file: b } }\ndispatch: { store: d/e, action: f, key: g }"),
            try Sample("nothing", .test, "type: a\ntests: [{ dispatch: a }]"),
        ]
        for (sample, mistake) in zip(samples, try mistakes(in: samples)) {
            #expect(mistake != nil, "\(sample.name)")
        }
    }

    /// The words that a file may have at a place, as the loader lists them for one that is far from all of them.
    private func words(at place: String) throws -> [String] {
        var errors: [SourceError] = []
        _ = DeclaredType.load(
            try LocatedValue.read(place.replacing("§", with: "qqqqqqqqqqqq: 1"), file: "t.yaml"), &errors)
        let message = try #require(errors.map(\.message).first { $0.contains("`qqqqqqqqqqqq`") }, "\(errors)")
        let list = try #require(message.firstMatch(of: /valid here: (.*)\.$/), "\(message)").1
        return list.components(separatedBy: ", ").map { $0.replacing("`", with: "") }
    }

    @Test(arguments: [
        ("type: t\ninitial: {}\n§\n", "properties"),
        ("type: t\ninitial: {}\nactions: { a: { § } }\n", "definitions/action/properties"),
        (
            "type: t\nstate: { x: { type: any, default: 1, § } }\n",
            "definitions/stateMember/anyOf/1/properties"
        ),
        (
            "type: t\ninitial: {}\nactions: { a: { payload: { x: { type: any, § } } } }\n",
            "definitions/payloadMember/anyOf/1/properties"
        ),
        (
            "type: t\ninitial: {}\nactions: { a: { require: [{ if: { var: state }, § }] } }\n",
            "definitions/condition/properties"
        ),
        (
            "type: t\ninitial: {}\nactions: { a: { timers: { x: { in: 1s, action: a, § } } } }\n",
            "definitions/timer/anyOf/1/properties"
        ),
    ])
    func haveEveryWordOfTheLoader(place: String, path: String) throws {
        var schema: JSON? = try JSON(parsing: FileSchema.type.text)
        for key in path.split(separator: "/") {
            schema = Int(key).flatMap { schema?.array?[$0] } ?? schema?[String(key)]
        }
        let properties = try #require(schema?.object)
        for word in try words(at: place) { #expect(properties[word] != nil, "\(word) is missing in \(path)") }
    }

    @Test func theCommandPrintsThem() throws {
        for kind in FileSchema.allCases {
            #expect(try CommandRun(["schema", kind.rawValue]).output == kind.text)
        }
    }
}
