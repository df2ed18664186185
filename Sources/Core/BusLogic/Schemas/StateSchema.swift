import BusJSON
import BusProtocol
import BusState

/// What every state of a type satisfies: `state:` of a definition. Members that it does not name are anything.
package final class StateSchema: Sendable {
    package struct Member: Sendable {
        package let name: String
        package let schema: ValueSchema
    }

    /// Ascending by the bytes of their names.
    package let members: [Member]
    /// Whether writes are changed by it: defaults are filled in, or arrays drop elements.
    let adjusts: Bool

    package init(_ members: [Member]) {
        adjusts = members.contains { $0.schema.fillsIn || $0.schema.dropsAny }
        self.members = members.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    package subscript(name: String) -> ValueSchema? {
        members.first { UTF8Order.equal($0.name, name) }?.schema
    }

    /// What is wrong with a state. The cost grows with the state.
    func problem(of state: JSONObject, _ looked: inout Int) -> SchemaProblem? {
        for member in members {
            guard let value = state[member.name] else { return Self.missing(member.name) }
            if let problem = member.schema.problem(of: value, &looked) { return problem.inside(member.name) }
        }
        return nil
    }

    /// The refusal of a state without one of its members.
    static func missing(_ name: String) -> SchemaProblem {
        SchemaProblem("is a member of every state and can't be unset", at: [name])
    }

    // MARK: Writes

    /// What is wrong with a state because of one write to it, which was right before. The cost grows with what was
    /// written and with the schema, not with the state; `looked` counts how many values were looked at.
    func problem(
        after kind: WriteKind, at path: [String], of value: JSON, in state: JSONObject, _ looked: inout Int
    ) -> SchemaProblem? {
        guard var schema = self[path[0]] else { return nil }
        var place = WrittenPlace(kind: kind, path: path, value: value, state: state)
        for depth in 1..<max(path.count, 1) {
            // Choices are compared whole.
            if schema.isWhole { return place.problem(of: schema, upTo: depth, &looked) }
            switch schema.inside(path[depth]) {
            case .open:
                guard depth == path.count - 1 else { return nil }
                place.holder = schema
                return place.lengthProblem
            case .nothing:
                if kind == .unset { return nil }
                return schema.unnamed(path[depth]).inside(Array(path[..<depth]))
            case .schema(let inner):
                place.holder = schema
                schema = inner
            }
        }
        return place.problem(with: schema, &looked)
    }

    /// What is known of the place that a path leads to; nil where it may be anything, or is looked at as a part of a whole.
    func schema(at path: [String]) -> ValueSchema? {
        guard var schema = self[path[0]] else { return nil }
        for segment in path.dropFirst() {
            guard schema.choices == nil, case .schema(let inner) = schema.inside(segment) else { return nil }
            schema = inner
        }
        return schema
    }
}

/// Why a value does not fit its schema: where, and the rest of a sentence that begins with the place.
struct SchemaProblem: Error, Equatable {
    private(set) var path: [String] = []
    /// `must be at most 100, not 500`.
    let reason: String

    init(_ reason: String, at path: [String] = []) {
        self.reason = reason
        self.path = path
    }

    /// The same seen from further outside.
    func inside(_ path: [String]) -> SchemaProblem { SchemaProblem(reason, at: path + self.path) }
    func inside(_ key: String) -> SchemaProblem { inside([key]) }

    /// The dotted path; of keys that a client made up, as much as a message quotes.
    var place: String { path.map { $0.shortened(to: 200) }.joined(separator: ".") }
    /// `brightness must be at most 100, not 500`.
    var sentence: String { "\(place) \(reason)" }
}
