import Flux
import FluxTesting
import Testing

/// How differences are told, for members of every kind.
@Suite struct ComparisonTests {
    /// The lines that tell how `actual` differs from `expected`.
    private func differences<Value: Sendable>(_ expected: Value, _ actual: Value) async throws -> [String] {
        let test = TestStore<Box<Value>>(state: Box(value: expected))
        do {
            try await test.dispatch(actual)
        } catch let failure as TestFailure {
            return failure.message.split(separator: "\n").dropFirst().map { String($0.dropFirst(4)) }
        }
        return []
    }

    private struct Box<Value: Sendable>: State {
        var value: Value
        typealias Action = Value
        struct Mutations: Flux.Mutations {
            func commit(_ action: Value, to state: inout Box) { state.value = action }
        }
    }

    private struct Person: Sendable {
        var name: String
        var age: Int?
        var place: (x: Int, y: Int) = (0, 0)
    }

    private enum Shape: Sendable {
        case point
        case circle(radius: Int)
        case box(Int, Int)
    }

    private struct Loose: Equatable, Sendable {
        var name: String
        static func == (one: Loose, other: Loose) -> Bool { one.name.lowercased() == other.name.lowercased() }
    }

    private struct Odd: Equatable, Sendable, CustomStringConvertible {
        var value: Int
        var description: String { "odd" }
        static func == (one: Odd, other: Odd) -> Bool { false }
    }

    private final class Thing: Sendable {}

    @Test func membersOfStructsAndTuplesAreNamed() async throws {
        let one = Person(name: "Ada", age: 36)
        #expect(try await differences(one, one) == [])
        #expect(
            try await differences(one, Person(name: "Ada ", age: nil, place: (0, 1))) == [
                "value.name: expected \"Ada\", got \"Ada \"",
                "value.age: expected 36, got nil",
                "value.place.y: expected 0, got 1",
            ])
        #expect(
            try await differences([one], [Person(name: "Ada", age: 37)]) == [
                "value[0].age: expected 36, got 37"
            ])
    }

    @Test func casesOfEnumsAreCompared() async throws {
        #expect(try await differences(Shape.point, .point) == [])
        #expect(
            try await differences(Shape.point, .circle(radius: 1)) == [
                "value: expected point, got circle(radius: 1)"
            ])
        #expect(
            try await differences(Shape.circle(radius: 2), .circle(radius: 1)) == [
                "value.circle.radius: expected 2, got 1"
            ])
        #expect(try await differences(Shape.box(1, 2), .box(1, 3)) == ["value.box.1: expected 2, got 3"])
        #expect(try await differences(Shape?.none, .point).count == 1)
        #expect(try await differences(Shape?.some(.point), .point) == [])
    }

    @Test func collectionsAreComparedByElement() async throws {
        #expect(
            try await differences([1, 2, 3], [1, 3]) == [
                "value[1]: expected 2, got 3", "value[2]: expected 3, got nothing",
            ])
        #expect(
            try await differences(["a": 1, "b": 2], ["b": 3, "c": 4]) == [
                "value[\"a\"]: expected 1, got nothing", "value[\"b\"]: expected 2, got 3",
                "value[\"c\"]: expected nothing, got 4",
            ])
        #expect(
            try await differences(Set([1, 2]), [2, 3]) == [
                "value: expected 1, got nothing", "value: expected nothing, got 3",
            ])
        #expect(try await differences([Int?.none], [nil]) == [])
        #expect(try await differences(Array(0..<30), Array(1..<31)).last == "and 10 more")
    }

    @Test func equalityOfATypeCounts() async throws {
        #expect(try await differences(Loose(name: "a"), Loose(name: "A")) == [])
        #expect(try await differences(Loose(name: "a"), Loose(name: "b")).count == 1)
        #expect(try await differences(Odd(value: 1), Odd(value: 1)) == ["value: expected odd, got odd"])
        #expect(try await differences([Double.nan, 1], [.nan, 1]) == [])
        #expect(try await differences([Double.nan, 1], [.nan, 2]) == ["value[1]: expected 1.0, got 2.0"])
    }

    @Test func objectsAreComparedByIdentity() async throws {
        let thing = Thing()
        #expect(try await differences(thing, thing) == [])
        #expect(try await differences(thing, Thing()).count == 1)
    }

    @Test func valuesAreWrittenAsInCode() async throws {
        let values: [(some: Any & Sendable, text: String)] = [
            (Person(name: "Ada", age: nil), "Person(name: \"Ada\", age: nil, place: (x: 0, y: 0))"),
            ([Shape.box(1, 2), .point], "[box(1, 2), point]"),
            (["b": Shape.circle(radius: 2), "a": .point], "[\"a\": point, \"b\": circle(radius: 2)]"),
            (Set([3, 1, 2]), "[1, 2, 3]"), ([String: Int](), "[:]"), (Odd(value: 1), "odd"),
        ]
        for (value, text) in values {
            let lines = try await differences([any Sendable](), [value])
            #expect(lines == ["value[0]: expected nothing, got \(text)"])
        }
    }

    @Test func longValuesAreCut() async throws {
        let lines = try await differences("a", String(repeating: "b", count: 10_000))
        #expect(lines.count == 1)
        #expect(lines[0].count < 400)
    }
}
