import BusJSON
import BusSource

/// Computed values: compiled, and put into the order of their dependencies.
extension DefinitionLoader {
    mutating func loadComputed(_ root: LocatedObject) throws(SourceError) {
        shape = parts.plain
        let members = try root["computed"]?.object("computed").members ?? []
        for member in members {
            if parts.plain[member.key] != nil {
                let place =
                    parts.view != nil
                    ? "values" : root["initial"]?.json[member.key] == nil ? "state" : "initial"
                mistakes.add(
                    "\(member.key) is in \(place) too; give the computed value another name.",
                    at: member.place)
                continue
            }
            computedNames.append(member.key)
            shape[member.key] = .null
        }
        named?.compile(shape: shape, knownNames, parts.schema)
        let scope = ExpressionScope(data: .state, shape: shape)
        let review = ExpressionReview(mistakes, names: knownNames, schema: parts.schema, payload: nil)
        var values: [Computed] = []
        for member in members.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            var compiler = compiler(review)
            defer { usesText = usesText || compiler.hasText }
            guard
                let expression = mistakes.collect({ () throws(SourceError) in
                    try compiler.compile(expression: member.value, in: scope)
                })
            else { continue }
            let inference = ValueInference(payload: LoadedPayload([]), state: parts.schema, review: review)
            parts.computedSchemas[member.key] = inference.schema(of: expression).ofComputed
            values.append(
                Computed(name: member.key, place: member.place, expression: expression, reads: compiler.reads)
            )
        }
        let invariants = mistakes.collect { () throws(SourceError) in try loadInvariants(root) } ?? []
        let timers = mistakes.collect { () throws(SourceError) in try loadTypeTimers(root) } ?? []
        parts.computed = ComputedValues(
            try Self.ordered(values), others: invariants.map(\.reads) + timers.map(\.reads), shape: shape)
        parts.invariants = Invariants(
            entries: invariants.map {
                .init(
                    condition: $0.condition, otherwise: $0.otherwise, reads: parts.computed.mask($0.reads))
            })
        parts.timers = timers.map { .init(name: $0.name, condition: $0.condition, setting: $0.setting) }
        parts.readsOfTimers = timers.reduce(0) { $0 | parts.computed.mask($1.reads) }
        checkInvariants(invariants)
    }

    private struct Computed {
        let name: String
        let place: Place
        let expression: ExpressionNode
        let reads: StateReads

        func reads(_ other: Computed) -> Bool { reads.everything || reads.contains(other.name) }
    }

    /// Each value after those it reads. A value that reads everything comes after all others.
    private static func ordered(
        _ values: [Computed]
    ) throws(SourceError) -> [(name: String, expression: ExpressionNode, reads: StateReads)] {
        var edges: [[Int]] = []
        for value in values {
            edges.append(
                values.indices.filter {
                    UTF8Order.equal(values[$0].name, value.name)
                        ? readsItself(value) : value.reads(values[$0])
                })
        }
        switch DependencyOrder.sort(edges) {
        case .order(let order):
            return order.map { (values[$0].name, values[$0].expression, values[$0].reads) }
        case .cycle(let cycle):
            let names = cycle.map { values[$0].name }
            throw SourceError(
                "The computed values \(names.joined(separator: " → ")) read each other in a circle; break it.",
                at: values[cycle[0]].place)
        }
    }

    /// Looking at the whole state from a computed value shows the value itself as it was; that is only refused
    /// where it is named.
    private static func readsItself(_ value: Computed) -> Bool { value.reads.contains(value.name) }
}
