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

    /// A part of what an action writes.
    indirect enum PendingPart {
        case write(PendingWrite)
        /// Its path ends in the segment that stands for all members.
        case patch(PendingWrite)
        case each(ExpressionNode, hasTwoNames: Bool, [PendingPart])

        /// All writes of parts, also those that are repeated.
        static func writes(of parts: [PendingPart]) -> [PendingWrite] {
            parts.flatMap { part in
                switch part {
                case .write(let write), .patch(let write): [write]
                case .each(_, _, let parts): writes(of: parts)
                }
            }
        }
    }

    /// The writes of an action with the checks that they need: as steps, or where only data tells how much or where to, as
    /// dynamic ones.
    func compiledWrites(
        _ parts: [PendingPart], _ payload: LoadedPayload, _ review: ExpressionReview
    ) -> (steps: [WriteStep], dynamic: DynamicWrites?) {
        let inference = ValueInference(payload: payload, state: self.parts.schema, review: review)
        let isStatic = parts.allSatisfy { part in
            if case .write(let write) = part { !write.path.isComputed } else { false }
        }
        var later = PendingPart.writes(of: parts)[...]
        func step(_ write: PendingWrite, _ role: WriteRole) -> WriteStep {
            later.removeFirst()
            return self.step(write, role, before: later, inference)
        }
        if isStatic { return (later.map { step($0, WriteRole()) }, nil) }
        return ([], DynamicWrites(Self.dynamicParts(parts, step)))
    }

    /// What a write is in its action.
    struct WriteRole {
        var isRepeated = false
        var isPatch = false
    }

    /// The parts of dynamic writes, each write compiled by `step`, in their order.
    static func dynamicParts(
        _ parts: [PendingPart], isRepeated: Bool = false, _ step: (PendingWrite, WriteRole) -> WriteStep
    ) -> [DynamicWrites.Part] {
        parts.map { part in
            switch part {
            case .write(let write): .write(step(write, WriteRole(isRepeated: isRepeated)))
            case .patch(let write): .patch(step(write, WriteRole(isRepeated: isRepeated, isPatch: true)))
            case .each(let range, let hasTwoNames, let parts):
                .each(.init(in: range, hasTwoNames: hasTwoNames, dynamicParts(parts, isRepeated: true, step)))
            }
        }
    }

    /// A write of an action, with the check that it needs.
    private func step(
        _ write: PendingWrite, _ role: WriteRole, before later: ArraySlice<PendingWrite>,
        _ inference: ValueInference
    ) -> WriteStep {
        var check: WriteCheck?
        // A patch of the state itself makes no members.
        let isPatchOfState = role.isPatch && write.path.segments.count == 1
        let mayBreak = role.isPatch ? mayPatchBreak(write, inference) : mayBreak(write, inference)
        if mayBreak || isPatchOfState, let schema = parts.schema ?? (isPatchOfState ? StateSchema([]) : nil) {
            let mayBeMended = role.isRepeated || later.contains { Self.mayMeet($0.path, write.path) }
            check = WriteCheck(
                schema, mayBeMended: mayBeMended, named: write.path.first == nil ? parts.plain : nil)
        }
        let bits = write.path.first.map { parts.computed.bits(of: $0) }
        return WriteStep(write.kind, write.path, value: write.value, bits: bits, check: check)
    }

    /// Whether a patch may break what states have to be; doubts members of it that must.
    private func mayPatchBreak(_ patch: PendingWrite, _ inference: ValueInference) -> Bool {
        let base = patch.path.segments.dropLast()
        for member in patch.value.flatMap({ inference.members(of: $0) }) ?? [] {
            let path = PathTemplate(base + [.key(member.name)], text: patch.path.text)
            _ = mayBreak(
                PendingWrite(kind: .set, path: .template(path), value: member.value, source: patch.source),
                inference)
        }
        return mayBreak(
            PendingWrite(kind: .set, path: patch.path, value: nil, source: patch.source), inference)
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
        guard let member = parts.schema?[first] else {
            doubtInitial(write)
            return false
        }
        var end = WriteEnd(schema: member, path: [first])
        let segments = write.path.segments
        for (depth, segment) in segments.enumerated().dropFirst() {
            if end.schema.isWhole { return true }
            let isLast = depth == segments.count - 1
            switch Self.step(into: end.schema, segment) {
            case .known(let inner, let name):
                end = WriteEnd(schema: inner, holder: end.schema, path: end.path + [name])
            case .open: return isLast && end.schema.countMatters(to: write.kind)
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

    /// Doubts a value in `initial` that a write to the whole member can't be applied to.
    private func doubtInitial(_ write: PendingWrite) {
        guard parts.schema == nil, write.path.segments.count == 1, let name = write.path.first,
            case .object(let root) = source.content, let initial = root["initial"],
            case .object(let members) = initial.content, let value = members[name],
            case .scalar(.string(let text)) = value.content
        else { return }
        switch write.kind {
        case .toggle:
            let hint = value.truthHint.isEmpty ? "; write true or false" : value.truthHint
            mistakes.doubt(
                "toggle is for booleans, and \(name) is not one in initial\(hint).", at: value.place)
        case .increment:
            guard Double(text) != nil else { return }
            mistakes.doubt(
                "increment is for numbers, and \(name) is a string in initial; write \(text), without quotes.",
                at: value.place)
        default: return
        }
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
        case .payload, .expression:
            let name = "{\(segment.text ?? "")}"
            switch schema.type {
            case .any: return .open
            case .array: return schema.items.map { .known($0, name) } ?? .open
            case .object:
                if let values = schema.values { return .known(values, name) }
                return schema.properties == nil ? .open : .named
            default: return .nothing(name)
            }
        }
    }
}
