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

    package init(_ members: [Member]) {
        self.members = members.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    package subscript(name: String) -> ValueSchema? {
        members.first { UTF8Order.equal($0.name, name) }?.schema
    }

    /// What is wrong with a state. The cost grows with the state.
    func problem(of state: JSONObject) -> SchemaProblem? {
        for member in members {
            guard let value = state[member.name] else { return Self.missing(member.name) }
            if let problem = member.schema.problem(of: value, at: [member.name]) { return problem }
        }
        return nil
    }

    /// The refusal of a state without one of its members.
    static func missing(_ name: String) -> SchemaProblem {
        SchemaProblem(path: [name], reason: "is a member of every state and can't be unset")
    }

    // MARK: Writes

    /// What is wrong with a state because of one write to it, which was right before. The cost grows with what was
    /// written and with the schema, not with the state.
    func problem(
        after kind: WriteKind, at path: [String], of value: JSON, in state: JSONObject
    ) -> SchemaProblem? {
        guard var schema = self[path[0]] else { return nil }
        var holder: ValueSchema?
        for depth in 1..<max(path.count, 1) {
            // Choices are compared whole.
            if schema.choices != nil { return schema.problem(at: Array(path[..<depth]), in: state) }
            switch schema.inside(path[depth]) {
            case .open:
                guard depth == path.count - 1 else { return nil }
                return Self.lengthProblem(kind, path, holder: schema, state)
            case .nothing:
                if kind == .unset { return nil }
                return schema.unnamed(path[depth], at: Array(path[..<depth]))
            case .schema(let inner):
                holder = schema
                schema = inner
            }
        }
        return schema.problem(after: kind, at: path, of: value, in: state, holder: holder)
    }

    /// What is wrong with the length of an array one of whose elements was set: it may be a new one.
    fileprivate static func lengthProblem(
        _ kind: WriteKind, _ path: [String], holder: ValueSchema?, _ state: JSONObject
    ) -> SchemaProblem? {
        guard kind == .set, let holder, holder.maxItems != nil else { return nil }
        let place = Array(path.dropLast())
        guard case .array(let elements)? = state.value(at: place) else { return nil }
        return holder.problem(ofCount: elements.count, at: place)
    }
}

extension ValueSchema {
    /// What is wrong with what stands at a path now.
    fileprivate func problem(at path: [String], in state: JSONObject) -> SchemaProblem? {
        state.value(at: path).flatMap { problem(of: $0, at: path) }
    }

    /// What is wrong because of a write to a place of this schema. `holder` is the schema of what holds the place; nil for
    /// a member of the state.
    fileprivate func problem(
        after kind: WriteKind, at path: [String], of value: JSON, in state: JSONObject, holder: ValueSchema?
    ) -> SchemaProblem? {
        switch kind {
        case .set:
            if let problem = StateSchema.lengthProblem(kind, path, holder: holder, state) { return problem }
            return problem(of: value, at: path)
        case .unset:
            guard let holder else { return StateSchema.missing(path[0]) }
            let name = path[path.count - 1]
            guard holder.property(name)?.isRequired == true else { return nil }
            return SchemaProblem(path: Array(path.dropLast()), reason: "must have a member \(name)")
        case .increment, .toggle: return problem(at: path, in: state)
        case .remove: return choices == nil ? nil : problem(at: path, in: state)
        case .append:
            if choices != nil { return problem(at: path, in: state) }
            guard type == .array, case .array(let elements)? = state.value(at: path) else { return nil }
            if let problem = problem(ofCount: elements.count, at: path) { return problem }
            return items?.problem(of: value, at: path + [String(elements.count - 1)])
        case .merge:
            guard let merged = state.value(at: path) else { return nil }
            return problem(ofMerged: merged, by: value, at: path)
        }
    }

    /// What is wrong with a value because a patch was merged into it: only what the patch names is looked at.
    private func problem(ofMerged merged: JSON, by patch: JSON, at path: [String]) -> SchemaProblem? {
        guard case .object(let changes) = patch, case .object(let object) = merged, choices == nil,
            type == .object
        else { return problem(of: merged, at: path) }
        for change in changes.members {
            guard let now = object[change.key] else { continue }
            switch inside(change.key) {
            case .open: continue
            case .nothing: return unnamed(change.key, at: path)
            case .schema(let inner):
                let problem = inner.problem(ofMerged: now, by: change.value, at: path + [change.key])
                if let problem { return problem }
            }
        }
        return missing(in: object, at: path)
    }
}
