import BusJSON
import BusProtocol
import BusSource
import BusState

/// The place at the end of a write path, as far as it is known when a definition is loaded.
struct WriteEnd {
    let schema: ValueSchema
    /// The schema of what holds the place; nil for a member of the state.
    var holder: ValueSchema?
    let path: [String]

    private var name: String { path.joined(separator: ".") }

    /// Whether the write may break the schema; doubts one that must, whatever the state and the payload.
    func mayBreak(
        _ write: DefinitionLoader.PendingWrite, _ inference: ValueInference, _ mistakes: Mistakes
    ) -> Bool {
        let value = write.value.map { inference.schema(of: $0) } ?? .any
        if let doubt = doubt(about: write, value) {
            mistakes.doubt(doubt, at: write.source.expression?.place ?? write.source.place)
            return true
        }
        let countMatters = holder?.countMatters(to: write.kind) == true
        if schema.isOpen { return countMatters }
        switch write.kind {
        case .set: return countMatters || schema.fillsIn || !value.implies(schema)
        case .unset:
            guard let holder else { return true }
            return countMatters || holder.property(path[path.count - 1])?.isRequired == true
        case .increment:
            guard schema.choices == nil, schema.types == nil, !schema.hasBounds else { return true }
            return schema.type == .integer && !value.implies(.integer)
        case .toggle, .remove: return schema.isWhole || schema.minItems != nil
        case .append:
            if schema.isWhole || schema.maxItems != nil || schema.fillsIn { return true }
            return schema.items.map { !value.implies($0) } ?? false
        case .merge: return true
        }
    }

    // MARK: What can't be right

    /// The sentence about a write that can never be done, or never gives what the schema wants.
    private func doubt(about write: DefinitionLoader.PendingWrite, _ value: ValueSchema) -> String? {
        switch write.kind {
        case .set: return Self.conflict(value, with: schema, at: path, write.value)
        case .unset:
            guard let holder else {
                return
                    "\(name) is a member of every state and can't be unset; set it to null, and let state say "
                    + "{ type: \(schema.type.rawValue), nullable: true }."
            }
            guard holder.property(path[path.count - 1])?.isRequired == true else { return nil }
            return
                "\(name) can't be unset, because state says that it is required; set it, or take it out of required."
        case .increment:
            if !schema.mayBe(.number) { return wrongKind("increment is for numbers; use set") }
            if value.excludes(.number) {
                return "increment adds a number, and \(Self.subject(write.value, value))."
            }
            guard schema.type == .integer, value.excludes(.integer) else { return nil }
            return
                "\(name) must be \(schema.phrase), and adding \(Self.choice(value)) makes it a number with a "
                + "fraction; let state say { type: number }."
        case .toggle: return schema.mayBe(.boolean) ? nil : wrongKind("toggle is for booleans; use set")
        case .remove: return schema.mayBe(.array) ? nil : wrongKind("remove is for arrays; use set or unset")
        case .append:
            guard schema.mayBe(.array) else { return wrongKind("append is for arrays; use set") }
            return schema.items.flatMap { Self.conflict(value, with: $0, at: path + ["…"], write.value) }
        case .merge:
            guard schema.mayBe(.object) else {
                return Self.conflict(value, with: schema, at: path, write.value)
            }
            return value.excludes(ValueSchema(.init(.object))) && value.excludes(schema)
                ? wrongKind("merge takes an object here") : nil
        }
    }

    private func wrongKind(_ hint: String) -> String { "\(name) is \(schema.phrase), and \(hint)." }

    /// Why no value of one schema can stand where another is wanted, or a part of it can't.
    private static func conflict(
        _ value: ValueSchema, with wanted: ValueSchema, at path: [String], _ node: ExpressionNode?
    ) -> String? {
        if value.excludes(wanted) {
            if let choice = value.choices?.first, let problem = wanted.problem(ofFilled: choice, at: path) {
                return "\(problem.sentence)."
            }
            return "\(path.joined(separator: ".")) must be \(wanted.phrase), and \(subject(node, value))."
        }
        guard wanted.choices == nil, wanted.type == .object, let properties = value.properties else {
            return nil
        }
        for property in properties where property.isRequired {
            switch wanted.inside(property.name) {
            case .open: continue
            case .nothing: return "\(wanted.unnamed(property.name).inside(path).sentence)."
            case .schema(let inner):
                let part = conflict(property.schema, with: inner, at: path + [property.name], nil)
                if let part { return part }
            }
        }
        let missing = (wanted.properties ?? []).first {
            $0.isRequired && $0.schema.fallback == nil && value.property($0.name) == nil
        }
        return missing.map { "\(path.joined(separator: ".")) must have a member \($0.name); add it." }
    }

    /// What a value is, for the end of a sentence: "payload.level is a string".
    private static func subject(_ node: ExpressionNode?, _ value: ValueSchema) -> String {
        if value.choices != nil { return "\(choice(value)) is none" }
        let name: String =
            switch node {
            case let read as PayloadReadNode: "payload." + read.keys.map(\.name).joined(separator: ".")
            case let read as StateReadNode: "state." + read.keys.map(\.name).joined(separator: ".")
            default: "this value"
            }
        return "\(name) is \(value.type.phrase)"
    }

    private static func choice(_ value: ValueSchema) -> String {
        value.choices.map { ValueSchema.list($0) } ?? "this value"
    }
}

extension ValueSchema {
    /// Whether a write of this kind to one of its elements may make too many of them, or leave too few.
    func countMatters(to kind: WriteKind) -> Bool {
        kind == .set && maxItems != nil || kind == .unset && minItems != nil
    }
}
