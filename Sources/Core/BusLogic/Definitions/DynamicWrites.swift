import BusJSON
import BusState

/// The writes of an action whose number or whose places only data tells: paths with expressions, `patch`, `each`.
///
/// Like all values of an action they are worked out on the state before it, and only then applied. Actions that have none of
/// these keep their writes as plain steps.
final class DynamicWrites: Sendable {
    indirect enum Part: Sendable {
        case write(WriteStep)
        /// A write for each member of a map. The last segment of the path stands for the member's name.
        case patch(WriteStep)
        case each(Repetition)
    }

    /// Writes that are repeated for each element of a list or each member of a map.
    final class Repetition: Sendable {
        let range: ExpressionNode
        /// Whether an index or a key has a name as well as what stands there.
        let hasTwoNames: Bool
        let parts: [Part]

        init(in range: ExpressionNode, hasTwoNames: Bool, _ parts: [Part]) {
            self.range = range
            self.hasTwoNames = hasTwoNames
            self.parts = parts
        }
    }

    /// A write that is worked out.
    struct Planned {
        let step: WriteStep
        let path: StatePath
        let value: JSON
    }

    /// Why the writes can't be worked out.
    struct Failure: Error {
        /// Which part it is: `set items.{id}`.
        let place: String
        let path: String?
        let reason: EvaluationFailure
    }

    let parts: [Part]
    /// Every write that may be made, once.
    let steps: [WriteStep]

    init(_ parts: [Part]) {
        self.parts = parts
        steps = Self.steps(of: parts)
    }

    private static func steps(of parts: [Part]) -> [WriteStep] {
        parts.flatMap { part in
            switch part {
            case .write(let step), .patch(let step): [step]
            case .each(let repetition): steps(of: repetition.parts)
            }
        }
    }

    /// Whether they make members of the state whose names only data tells. A patch of the state makes none.
    var makesMembers: Bool { Self.makeMembers(parts) }

    private static func makeMembers(_ parts: [Part]) -> Bool {
        parts.contains { part in
            switch part {
            case .write(let step): step.path.makesMembers(step.kind)
            case .patch: false
            case .each(let repetition): makeMembers(repetition.parts)
            }
        }
    }

    /// Works out the writes, in the order in which they are to be applied.
    func plan(_ evaluation: inout Evaluation) throws(Failure) -> [Planned] {
        var planned: [Planned] = []
        try Self.plan(parts, &evaluation, into: &planned)
        return planned
    }

    private static func plan(
        _ parts: [Part], _ evaluation: inout Evaluation, into planned: inout [Planned]
    ) throws(Failure) {
        for part in parts {
            switch part {
            case .write(let step):
                do throws(EvaluationFailure) {
                    planned.append(try plan(step, &evaluation))
                } catch {
                    throw Failure(
                        place: "\(step.kind) \(step.path.text)", path: step.path.text, reason: error)
                }
            case .patch(let step):
                do throws(EvaluationFailure) {
                    try plan(patch: step, &evaluation, into: &planned)
                } catch {
                    let (place, path) = step.path.patched
                    throw Failure(place: place, path: path, reason: error)
                }
            case .each(let repetition): try plan(repetition, &evaluation, into: &planned)
            }
        }
    }

    private static func plan(
        _ step: WriteStep, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Planned {
        try evaluation.spend()
        let path: StatePath
        switch step.path {
        case .fixed(let fixed): path = fixed
        case .template(let template):
            path = StatePath(try template.keys(template.segments.count, &evaluation))
        }
        return Planned(step: step, path: path, value: try step.value.value(&evaluation))
    }

    private static func plan(
        patch step: WriteStep, _ evaluation: inout Evaluation, into planned: inout [Planned]
    ) throws(EvaluationFailure) {
        guard case .template(let template) = step.path else { return }
        let keys = try template.keys(template.segments.count - 1, &evaluation)
        let value = try step.value.value(&evaluation)
        guard case .object(let members) = value else {
            throw .failed("a map is needed, and it was given \(value.kind)")
        }
        for member in members.members {
            try evaluation.spend()
            try evaluation.produce(16 + member.key.utf8.count)
            planned.append(Planned(step: step, path: StatePath(keys + [member.key]), value: member.value))
        }
    }

    private static func plan(
        _ repetition: Repetition, _ evaluation: inout Evaluation, into planned: inout [Planned]
    ) throws(Failure) {
        let slot = evaluation.locals.count
        defer { evaluation.locals.removeLast(evaluation.locals.count - slot) }
        func visit(
            _ key: JSON, _ value: JSON, _ evaluation: inout Evaluation, _ planned: inout [Planned]
        ) throws(Failure) {
            do throws(EvaluationFailure) {
                try evaluation.spend()
            } catch {
                throw Failure(place: "each", path: nil, reason: error)
            }
            evaluation.locals.removeLast(evaluation.locals.count - slot)
            if repetition.hasTwoNames { evaluation.locals.append(key) }
            evaluation.locals.append(value)
            try plan(repetition.parts, &evaluation, into: &planned)
        }
        let range: JSON
        do throws(EvaluationFailure) {
            range = try repetition.range.value(&evaluation)
        } catch {
            throw Failure(place: "each", path: nil, reason: error)
        }
        switch range {
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try visit(.int(index), element, &evaluation, &planned)
            }
        case .object(let object):
            for member in object.members {
                let key = JSON.string(member.key)
                try visit(key, repetition.hasTwoNames ? member.value : key, &evaluation, &planned)
            }
        case let other:
            let reason = EvaluationFailure.failed("a list or a map is needed, and it was given \(other.kind)")
            throw Failure(place: "each", path: nil, reason: reason)
        }
    }
}

extension WritePath {
    /// The segment that stands for the members of a patch.
    static let member = PathTemplate.Segment.expression(LiteralNode(.null), "MEMBER")

    /// The path of all members of a patch at a path; nil: of the state itself.
    static func members(of base: WritePath?) -> WritePath {
        let text = (base.map { $0.text + "." } ?? "") + "{MEMBER}"
        return .template(PathTemplate((base?.segments ?? []) + [member], text: text))
    }

    /// How a message calls a patch of such members, and its path.
    fileprivate var patched: (place: String, path: String?) {
        let base = text.dropLast(segments.count > 1 ? ".{MEMBER}".count : "{MEMBER}".count)
        return base.isEmpty ? ("patch", nil) : ("patch \(base)", String(base))
    }
}
