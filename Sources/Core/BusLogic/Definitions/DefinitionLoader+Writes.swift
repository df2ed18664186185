import BusJSON
import BusProtocol
import BusSource
import BusState

/// Writes are held against what states have to be: what can't be right is refused, what can't be wrong is never
/// checked.
extension DefinitionLoader {
    /// A write whose path and value are compiled.
    struct PendingWrite {
        let kind: WriteKind
        let path: WritePath
        let value: ExpressionNode?
        let source: Write
    }

    /// The writes of an action with the checks that they need.
    func checkedSteps(
        _ writes: [PendingWrite], _ payload: LoadedPayload, _ review: ExpressionReview
    ) -> [WriteStep] {
        let inference = ValueInference(payload: payload, state: parts.schema, review: review)
        return writes.enumerated().map { index, write in
            var check: WriteCheck?
            if mayBreak(write, inference), let schema = parts.schema {
                let mayBeMended = writes[(index + 1)...].contains { Self.mayMeet($0.path, write.path) }
                check = WriteCheck(
                    schema, mayBeMended: mayBeMended, named: write.path.first == nil ? parts.plain : nil)
            }
            let bits = write.path.first.map { parts.computed.bits(of: $0) }
            return WriteStep(write.kind, write.path, value: write.value, bits: bits, check: check)
        }
    }

    /// Whether two writes may go to the same member of a state.
    private static func mayMeet(_ left: WritePath, _ right: WritePath) -> Bool {
        guard let first = left.first, let second = right.first else { return true }
        return UTF8Order.equal(first, second)
    }

    /// Whether a write may break what states have to be; doubts one that must.
    private func mayBreak(_ write: PendingWrite, _ inference: ValueInference) -> Bool {
        guard let first = write.path.first else { return parts.schema != nil }
        if let names = knownNames, !names.contains(where: { UTF8Order.equal($0, first) }) {
            let place = parts.schema == nil ? "initial" : "initial nor state"
            let neither = parts.schema == nil ? "not in" : "in neither"
            mistakes.doubt(
                "\(first) is \(neither) \(place); \(suggestion(for: first, among: parts.plain.keys)) A new member "
                    + "is declared there, and one that the payload names is written as \"{payload.NAME}\".",
                at: write.source.place)
            return false
        }
        guard let member = parts.schema?[first] else { return false }
        var end = WriteEnd(schema: member, path: [first])
        let segments = write.path.segments
        for (depth, segment) in segments.enumerated().dropFirst() {
            // Choices are compared whole.
            if end.schema.choices != nil { return true }
            let isLast = depth == segments.count - 1
            switch Self.step(into: end.schema, segment) {
            case .known(let inner, let name):
                end = WriteEnd(schema: inner, holder: end.schema, path: end.path + [name])
            case .open: return isLast && write.kind == .set && end.schema.maxItems != nil
            case .named: return true
            case .nothing(let key):
                let owner = end.path.joined(separator: ".")
                mistakes.doubt(
                    ExpressionReview.nothing(key, in: end.schema, owner), at: write.source.place)
                return true
            }
        }
        return end.mayBreak(write, inference, mistakes)
    }

    private enum Step {
        case known(ValueSchema, String)
        case open
        /// The payload says which member it is.
        case named
        case nothing(String)
    }

    private static func step(into schema: ValueSchema, _ segment: PathTemplate.Segment) -> Step {
        switch segment {
        case .key(let key):
            switch schema.inside(key) {
            case .open: return .open
            case .schema(let inner): return .known(inner, key)
            case .nothing: return .nothing(key)
            }
        case .payload(let name):
            switch schema.type {
            case .any: return .open
            case .array: return schema.items.map { .known($0, "{payload.\(name)}") } ?? .open
            case .object:
                if let values = schema.values { return .known(values, "{payload.\(name)}") }
                return schema.properties == nil ? .open : .named
            default: return .nothing("{payload.\(name)}")
            }
        }
    }
}
