import BusJSON
import BusState

/// A place of a state after a write to it.
struct WrittenPlace {
    let kind: WriteKind
    let path: [String]
    /// What was written: a value, an amount, a patch.
    let value: JSON
    let state: JSONObject
    /// The schema of what holds the place; nil for a member of the state.
    var holder: ValueSchema?

    /// What is wrong with what stands at the beginning of the path now.
    func problem(of schema: ValueSchema, upTo depth: Int, _ looked: inout Int) -> SchemaProblem? {
        let place = Array(path[..<depth])
        guard let now = state.value(at: place) else { return nil }
        return schema.problem(of: now, &looked)?.inside(place)
    }

    /// What is wrong because of the write, if the place has this schema.
    func problem(with schema: ValueSchema, _ looked: inout Int) -> SchemaProblem? {
        switch kind {
        case .set: return lengthProblem ?? schema.problem(of: value, &looked)?.inside(path)
        case .unset:
            guard let holder else { return StateSchema.missing(path[0]) }
            if let lengthProblem { return lengthProblem }
            let name = path[path.count - 1]
            guard holder.property(name)?.isRequired == true else { return nil }
            return SchemaProblem("must have a member \(name)", at: Array(path.dropLast()))
        case .increment, .toggle: return problem(of: schema, upTo: path.count, &looked)
        case .remove:
            guard schema.isWhole || schema.minItems != nil else { return nil }
            return problem(of: schema, upTo: path.count, &looked)
        case .append:
            if schema.isWhole { return problem(of: schema, upTo: path.count, &looked) }
            guard schema.type == .array, case .array(let elements)? = state.value(at: path) else {
                return nil
            }
            if let problem = schema.problem(ofCount: elements.count) { return problem.inside(path) }
            let index = String(elements.count - 1)
            return schema.items?.problem(of: value, &looked)?.inside(path + [index])
        case .merge:
            guard let merged = state.value(at: path) else { return nil }
            return Self.problem(of: merged, mergedBy: value, with: schema, &looked)?.inside(path)
        }
    }

    /// What is wrong with the length of an array one of whose elements was set, which may be a new one, or taken away.
    var lengthProblem: SchemaProblem? {
        guard let holder, kind == .set && holder.maxItems != nil || kind == .unset && holder.minItems != nil
        else { return nil }
        let place = Array(path.dropLast())
        guard case .array(let elements)? = state.value(at: place) else { return nil }
        return holder.problem(ofCount: elements.count)?.inside(place)
    }

    /// What is wrong with a value because a patch was merged into it: only what the patch names is looked at.
    private static func problem(
        of merged: JSON, mergedBy patch: JSON, with schema: ValueSchema, _ looked: inout Int
    ) -> SchemaProblem? {
        guard case .object(let changes) = patch, case .object(let object) = merged, !schema.isWhole,
            schema.type == .object
        else { return schema.problem(of: merged, &looked) }
        looked += 1
        for change in changes.members {
            guard let now = object[change.key] else { continue }
            switch schema.inside(change.key) {
            case .open: continue
            case .nothing: return schema.unnamed(change.key)
            case .schema(let inner):
                let problem = Self.problem(of: now, mergedBy: change.value, with: inner, &looked)
                if let problem { return problem.inside(change.key) }
            }
        }
        return schema.missing(in: object)
    }
}
