import BusJSON
import Foundation
import TestSupport
import Testing

/// Random values there and back, and random JSON into types it was not made for.
@Suite struct CodingFuzzTests {
    indirect enum Tree: Codable, Equatable {
        case leaf(number: Int, Double)
        case branch([Tree], name: String?)
        case table([String: Tree])
        case raw(JSON)
        case empty
    }

    struct Record: Codable, Equatable {
        var flag: Bool
        var small: Int8?
        var wide: UInt64
        var text: String
        var values: [Double?]
        var nested: [String: [Int]]
        var kind: Kind
        var pair: Pair?
        var any: JSON?
        enum Kind: String, Codable { case one, two }
        struct Pair: Codable, Equatable { var left: Float, right: Int32 }
    }

    private func tree(_ generator: inout SeededGenerator, _ depth: Int) -> Tree {
        switch Int.random(in: 0..<(depth > 0 ? 5 : 2), using: &generator) {
        case 0: return .leaf(number: randomInteger(using: &generator), randomDouble(using: &generator))
        case 1: return .empty
        case 2: return .raw(randomJSON(using: &generator, depth: 3))
        case 3:
            let count = Int.random(in: 0...3, using: &generator)
            let branches = (0..<count).map { _ in tree(&generator, depth - 1) }
            return .branch(branches, name: generator.oneIn(2) ? nil : randomString(using: &generator))
        default:
            var table: [String: Tree] = [:]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                // Dictionaries know keys by Unicode equivalence, so these are plain.
                table["k\(Int.random(in: 0...9, using: &generator))"] = tree(&generator, depth - 1)
            }
            return .table(table)
        }
    }

    private func record(_ generator: inout SeededGenerator) -> Record {
        Record(
            flag: generator.oneIn(2),
            small: generator.oneIn(3) ? nil : Int8.random(in: .min ... .max, using: &generator),
            wide: UInt64(randomInteger(using: &generator).magnitude) & UInt64(Int.max),
            text: randomString(using: &generator),
            values: (0..<3).map { _ in generator.oneIn(3) ? nil : randomDouble(using: &generator) },
            nested: ["x": [randomInteger(using: &generator)], "y": []],
            kind: generator.oneIn(2) ? .one : .two,
            pair: generator.oneIn(2) ? nil : .init(left: .random(in: -9...9, using: &generator), right: 7),
            any: generator.oneIn(2) ? nil : .array([randomJSON(using: &generator, depth: 2)]))
    }

    @Test(arguments: 1...8) func randomValuesRoundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let tree = tree(&generator, 4)
            let json = try JSON(encoding: tree)
            #expect(try json.decoded(as: Tree.self) == tree, "seed \(seed)")
            // Through bytes, too.
            #expect(try JSON(parsing: json.encoded) == json, "seed \(seed)")
            let record = record(&generator)
            #expect(try JSON(encoding: record).decoded(as: Record.self) == record, "seed \(seed)")
        }
    }

    @Test(arguments: 1...4) func jsonGoesThroughOtherCodersUnharmed(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let json = withoutUnicodeEquivalents(randomJSON(using: &generator, depth: 4))
            let data = try JSONEncoder().encode([json])
            // Foundation knows one kind of number only.
            #expect(
                try JSONDecoder().decode([JSON].self, from: data).map(plain) == [plain(json)], "seed \(seed)")
        }
    }

    /// Keys that a dictionary takes for one would get lost on the way.
    private func withoutUnicodeEquivalents(_ json: JSON) -> JSON {
        switch json {
        case .array(let elements): return .array(elements.map(withoutUnicodeEquivalents))
        case .object(var object):
            object["e\u{301}"] = nil
            for member in object { object[member.key] = withoutUnicodeEquivalents(member.value) }
            return .object(object)
        default: return json
        }
    }

    private func plain(_ json: JSON) -> JSON {
        switch json {
        case .double(let number): Int(exactly: number).map(JSON.int) ?? json
        case .array(let elements): .array(elements.map(plain))
        case .object(let object):
            .object(JSONObject(sorted: object.members.map { .init(key: $0.key, value: plain($0.value)) }))
        default: json
        }
    }

    @Test(arguments: 1...8) func foreignJSONIsDecodedOrRefusedInASentence(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let foreign = randomJSON(using: &generator, depth: 4)
            let valid = try JSON(encoding: tree(&generator, 3))
            let mutated = randomlyChanged(valid, using: &generator)
            for json in [
                foreign, mutated, randomlyChanged(try JSON(encoding: record(&generator)), using: &generator),
            ] {
                do {
                    let tree = try json.decoded(as: Tree.self)
                    #expect(try JSON(encoding: tree).decoded(as: Tree.self) == tree)
                } catch let error as JSONCodingError {
                    #expect(error.description.hasSuffix("."))
                }
                do {
                    _ = try json.decoded(as: Record.self)
                } catch let error as JSONCodingError {
                    #expect(error.description.hasSuffix("."))
                }
            }
        }
    }
}
