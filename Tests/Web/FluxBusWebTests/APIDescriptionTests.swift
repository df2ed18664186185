import BusJSON
import FluxBusWeb
import Testing

/// What the document says of parameters, against what the server takes.
@Suite struct APIDescriptionTests {
    private static func parameters(_ operation: JSON, in place: String) -> [JSON] {
        (operation["parameters"]?.array ?? []).filter { $0["in"]?.string == place }
    }

    /// All operations under `/v1`, with a type that has the action `increment`.
    private static let operations: [(path: String, method: String, operation: JSON)] = {
        let type: JSON = ["type": "counter", "actions": ["increment": [:]]]
        let paths = APIDescription([type]).openAPI["paths"]?.object ?? [:]
        return paths.flatMap { path in
            (path.value.object ?? [:]).map { (path.key, $0.key.uppercased(), $0.value) }
        }
    }()

    /// The parameters that the server names when it is asked for another one.
    private static func taken(_ method: String, _ path: String) throws -> Set<String> {
        let path = path.dropFirst("/v1/".count).replacing("{type}", with: "counter").replacing(
            "{name}", with: "a")
        let refusal = #expect(throws: APICall.Refusal.self) {
            try APICall(.init(method, path.split(separator: "/").map(String.init), query: [("no", "")]))
        }
        guard case .invalid(let error) = refusal else { return ["\(String(describing: refusal))"] }
        let names = error.message.split(separator: "there are: ").dropFirst().first ?? ""
        return Set(names.dropLast().split(separator: ", ").map(String.init))
    }

    @Test func everyParameterIsDescribed() throws {
        #expect(Self.operations.count == 15)
        for (path, method, operation) in Self.operations {
            let described = Self.parameters(operation, in: "query").flatMap { parameter in
                parameter["schema"]?["properties"]?.object.map { Array($0.keys) } ?? [
                    parameter["name"]?.string ?? ""
                ]
            }
            #expect(described.count == Set(described).count)
            #expect(try Set(described) == Self.taken(method, path), "\(method) \(path)")
        }
        let fields = Self.operations.flatMap { Self.parameters($0.operation, in: "header") }
            .compactMap { $0["name"]?.string?.lowercased() }
        #expect(Set(fields) == Set(APICall.Source.names))
    }

    /// What the bus takes one of, the document allows one of.
    @Test func whatExcludesOneAnotherIsSaid() throws {
        func schema(_ operation: String, _ group: String) throws -> JSON {
            let found = Self.operations.first { $0.operation["operationId"]?.string == operation }
            let parameters = try Self.parameters(#require(found).operation, in: "query")
            let parameter = try #require(parameters.first { $0["name"]?.string == group })
            #expect(parameter["style"] == "form" && parameter["explode"] == true)
            return try #require(parameter["schema"])
        }
        for operation in ["counter.increment", "counter.increment.all"] {
            let when = try schema(operation, "when")
            #expect(when["not"] == ["required": ["in", "at"]])
            #expect(
                when["dependentSchemas"]?["timer"] == ["anyOf": [["required": ["in"]], ["required": ["at"]]]])
        }
        #expect(try schema("samples", "range")["not"] == ["required": ["since", "time"]])
        let range = try schema("history", "range")
        #expect(range["if"] == ["properties": ["order": ["const": "newest"]], "required": ["order"]])
        #expect(range["then"] == ["not": ["required": ["until", "time"]]])
        #expect(range["else"] == ["not": ["required": ["since", "time"]]])
        #expect(try schema("history", "subject")["maxProperties"] == 1)
        #expect(try schema("blame", "moment")["maxProperties"] == 1)
    }
}
