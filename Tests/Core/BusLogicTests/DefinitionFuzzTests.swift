import BusJSON
import BusLogic
import BusProtocol
import BusSource
import BusState
import BusYAML
import Foundation
import TestFiles
import TestSupport
import Testing

/// Whatever stands in a definition, loading it gives a type or an error with a place, and committing the
/// actions of what did load ends with a state or a rejection.
struct DefinitionFuzzTests {
    private let samples: [[UInt8]]

    init() throws {
        let names = try FileReading.names(in: Repository.sampleTypes)
        let files = try names.map { (name) in
            try FileReading.bytes(of: Repository.sampleTypes + "/" + name)
        }
        samples = files + [Array(Self.shaped.utf8), Array(Self.shaped.utf8)]
    }

    /// A type with every word of a schema.
    private static let shaped = """
        type: shaped
        state:
          count: { type: integer, minimum: 0, maximum: 100, default: 5 }
          mode: { enum: [auto, manual], default: auto }
          text: { type: string, minLength: 0, maxLength: 9, nullable: true, default: null, summary: What is said. }
          list: { type: array, items: integer, maxItems: 3, default: [1] }
          items: { values: { properties: { title: string, done: boolean }, required: [done] }, default: {} }
        initial: { count: 7, any: 1 }
        computed: { isBig: { ">": [{ var: count }, 50] } }
        actions:
          add: { payload: { by: { type: integer, minimum: 1, default: 2 } }, increment: { count: { var: payload.by } } }
          put:
            payload: { id: string, title: { type: string, maxLength: 4, optional: true } }
            set: { "items.{payload.id}": { title: { cat: [{ var: payload.title }] }, done: false } }
            append: { list: { var: state.count } }
          drop: { payload: { id: string }, unset: ["items.{payload.id}.done"] }
          blend: { payload: { id: object }, merge: { items: { var: payload.id } } }
        """

    @Test(arguments: 0..<8 as Range<UInt64>)
    func mutatedTextsNeverCrash(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var loaded = 0
        for _ in 0..<1_500 {
            var bytes = try #require(samples.randomElement(using: &generator))
            for _ in 0..<Int.random(in: 1...3, using: &generator) { mutate(&bytes, &generator) }
            do {
                let source = try LocatedValue.read(bytes, file: "fuzz.yaml")
                var all: [SourceError] = []
                // Found together or one by one, a definition is right or it is not.
                let isRight = DeclaredType.load(source, &all) != nil
                #expect(isRight == all.isEmpty && all == all.inOrder)
                #expect(all.allSatisfy { $0.line > 0 && ".?".contains($0.message.last ?? " ") }, "\(all)")
                let type = try DeclaredType(source)
                #expect(isRight)
                loaded += 1
                try exercise(type, &generator)
            } catch let error as SourceError {
                #expect(
                    error.line > 0 && error.column > 0 && ".?".contains(error.message.last ?? " "), "\(error)"
                )
            }
        }
        #expect(loaded > 50)
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func mutatedDefinitionsNeverCrash(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let definitions = try samples.map { try LocatedValue.read($0, file: "sample.yaml").json }
        var words = ExpressionWords.all
        words += [
            "type", "enum", "minimum", "maximum", "minLength", "maxLength", "items", "maxItems", "properties",
            "required", "values", "default", "nullable", "integer", "string", "object", "array", "initial",
        ]
        words += ["payload.by", "state.count", "", "items.{payload.id}", "integer?", "count"]
        var loaded = 0
        for _ in 0..<1_500 {
            var definition = try #require(definitions.randomElement(using: &generator))
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                definition = changed(definition, words, &generator)
            }
            guard let type = try? DeclaredType(definition: definition) else { continue }
            loaded += 1
            let again = try DeclaredType(definition: JSON(parsing: type.definition.encoded))
            #expect(again.definition == type.definition)
            try exercise(type, &generator)
        }
        #expect(loaded > 50)
    }

    /// Commits every action once with a payload that may fit.
    private func exercise(_ type: DeclaredType, _ generator: inout SeededGenerator) throws {
        let bench = StoreBench(type, store: Budget(operations: 5_000, bytes: 1 << 16))
        for action in type.actionNames {
            var payload = JSONObject()
            for key in ["id", "title", "by", "celsius", "name", "text"] where generator.oneIn(2) {
                payload[key] = generator.oneIn(2) ? "x" : randomJSON(using: &generator, depth: 2)
            }
            do {
                try bench.dispatch(action, payload)
            } catch is Rejection, is PayloadFailure {
                continue
            }
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        let length = min(Int.random(in: 1...12, using: &generator), bytes.count - place)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.removeSubrange(place..<(place + length))
        case 2:
            bytes.insert(
                contentsOf: bytes[place..<(place + length)],
                at: Int.random(in: 0..<bytes.count, using: &generator))
        case 3:
            bytes.insert(
                Array("{}[]:,-&*!|>'\"%@`\n\t #~0.".utf8).randomElement(using: &generator) ?? 0, at: place)
        default:
            let words = [
                "var", "{ \"+\": [1, 2] }", "null", "payload.x", "<<: *a", "&a", "!!int", "- ", "? ", "0x",
                "1e999", "state",
            ]
            bytes.insert(contentsOf: Array((words.randomElement(using: &generator) ?? "").utf8), at: place)
        }
    }

    /// The definition with one part of it replaced, taken out or wrapped into an operation.
    private func changed(_ value: JSON, _ words: [String], _ generator: inout SeededGenerator) -> JSON {
        func word() -> String { words.randomElement(using: &generator) ?? "" }
        if generator.oneIn(6) {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: return .object([word(): value])
            case 1: return .object([word(): [value, .string(word()), value]])
            case 2: return .string(word())
            default: return randomJSON(using: &generator, depth: 2)
            }
        }
        switch value {
        case .object(var object):
            guard let key = object.keys.randomElement(using: &generator), let member = object[key] else {
                return value
            }
            object[key] = generator.oneIn(20) ? nil : changed(member, words, &generator)
            if generator.oneIn(20) { object[word()] = member }
            return .object(object)
        case .array(var elements):
            guard let index = elements.indices.randomElement(using: &generator) else { return value }
            elements[index] = changed(elements[index], words, &generator)
            return .array(elements)
        default: return generator.oneIn(2) ? .string(word()) : randomJSON(using: &generator, depth: 1)
        }
    }
}

/// The words of expressions and definitions, to make mutations that are nearly right.
enum ExpressionWords {
    static let all =
        Expression.operators + [
            "set", "unset", "increment", "toggle", "append", "remove", "when", "require", "state", "payload",
            "meta", "store", "accumulator", "current", "index", "descending", "milliseconds", "1h30m",
        ]
}
