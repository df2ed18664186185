import BusJSON
import BusProtocol
import BusSource

/// What states have to be, and what they start with: `state` and `initial`.
extension DefinitionLoader {
    /// The members of a state, computed ones included; nil when they could not be read.
    var knownNames: [String]? { isShapeKnown ? shape.keys : nil }

    mutating func loadShape(_ root: LocatedObject) {
        let before = mistakes.errors.count
        if let source = root["state"] {
            mistakes.collect { () throws(SourceError) in try loadSchema(source.object("state")) }
        }
        mistakes.collect { () throws(SourceError) in try loadInitial(root) }
        isShapeKnown = mistakes.errors.count == before
    }

    private mutating func loadSchema(_ state: LocatedObject) {
        if let around = schemaAround(state) {
            mistakes.add(
                "state lists the members themselves, with no schema around them; write what is in properties right below "
                    + "state, and give members defaults instead of required.", at: around)
            return
        }
        let reader = SchemaReader(mistakes: mistakes)
        parts.schema = StateSchema(
            state.members.compactMap { member in
                let found = reader.read(member.value, of: member.key, for: .state)
                return found.map { .init(name: member.key, schema: $0.schema) }
            })
    }

    /// Where members stand in `properties` beside `type: object`, as in JSON Schema; nil if they do not.
    func schemaAround(_ members: LocatedObject) -> Place? {
        guard mistakes.isStrict, case .scalar(.string("object"))? = members["type"]?.content,
            case .object? = members["properties"]?.content
        else { return nil }
        return members.member("type")?.place
    }

    private mutating func loadInitial(_ root: LocatedObject) throws(SourceError) {
        let state = root["state"]
        let source = state == nil ? try root.required("initial", of: "A state type") : root["initial"]
        let initial = try source?.object("initial")
        parts.plain = initial?.json ?? JSONObject()
        guard JSON.object(parts.plain).nests(atMost: Evaluation.deepestValue) else {
            throw source?.failure("initial is nested too deeply; make it flatter.")
                ?? SourceError(
                    "initial is nested too deeply; make it flatter.", at: root.place)
        }
        guard case .object(let members)? = state?.content else { return }
        for member in parts.schema?.members ?? [] {
            if let source = initial?[member.name] {
                check(source, against: member)
                parts.plain[member.name] = member.schema.filled(source.json)
            } else if let fallback = member.schema.fallback {
                parts.plain[member.name] = fallback
            } else {
                mistakes.add(
                    "\(member.name) has no value to start with; give it a default, or a value in initial.",
                    at: members.member(member.name)?.place ?? members.place)
            }
        }
    }

    private func check(_ source: LocatedValue, against member: StateSchema.Member) {
        guard let problem = member.schema.problem(ofFilled: source.json, at: [member.name]) else { return }
        let value = source.descendant(problem.path.dropFirst())
        mistakes.add("\(problem.sentence)\(value.truthHint).", at: value.place)
    }
}

extension LocatedValue {
    /// The end of a sentence about a text that YAML 1.1 took for a boolean; empty for any other value.
    var truthHint: String {
        guard case .scalar(.string(let text)) = content else { return "" }
        return switch text.lowercased() {
        case "yes", "on", "y": "; \(text) is a text, write true"
        case "no", "off", "n": "; \(text) is a text, write false"
        default: ""
        }
    }

    /// The value at a path below this one, as far as it leads.
    fileprivate func descendant(_ path: ArraySlice<String>) -> LocatedValue {
        guard let segment = path.first else { return self }
        switch content {
        case .object(let object): return object[segment]?.descendant(path.dropFirst()) ?? self
        case .array(let elements):
            guard let index = Int(segment), elements.indices.contains(index) else { return self }
            return elements[index].descendant(path.dropFirst())
        case .scalar: return self
        }
    }
}
