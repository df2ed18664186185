import BusJSON
import BusProtocol

/// What can be said of all values of a schema at once, when a definition is loaded.
extension ValueSchema {
    /// Whether every value that fits this schema surely fits the other.
    func implies(_ other: ValueSchema) -> Bool {
        if other.isOpen { return true }
        if isNullable, other.problem(of: .null, at: []) != nil { return false }
        if let choices { return choices.allSatisfy { other.problem(of: $0, at: []) == nil } }
        guard other.choices == nil, type == other.type || (type == .integer && other.type == .number) else {
            return false
        }
        switch type {
        case .integer, .number:
            return Self.reaches(minimum, other.minimum, 1) && Self.reaches(maximum, other.maximum, -1)
        case .string:
            return (minLength ?? 0) >= (other.minLength ?? 0)
                && (maxLength ?? .max) <= (other.maxLength ?? .max)
        case .array:
            return (maxItems ?? .max) <= (other.maxItems ?? .max)
                && (other.items.map { (items ?? .any).implies($0) } ?? true)
        case .object: return impliesMembers(of: other)
        case .any, .boolean: return true
        }
    }

    private func impliesMembers(of other: ValueSchema) -> Bool {
        if let wanted = other.values {
            if let properties { return properties.allSatisfy { $0.schema.implies(wanted) } }
            return values?.implies(wanted) ?? wanted.isOpen
        }
        guard let wanted = other.properties else { return true }
        guard let properties else { return false }
        return properties.allSatisfy { own in
            wanted.contains { UTF8Order.equal($0.name, own.name) && own.schema.implies($0.schema) }
        }
            && wanted.allSatisfy { needed in
                !needed.isRequired || property(needed.name)?.isRequired == true
            }
    }

    /// Whether a bound is as tight as the wanted one; `sign` is 1 for a minimum, -1 for a maximum.
    private static func reaches(_ bound: JSON?, _ wanted: JSON?, _ sign: Int) -> Bool {
        guard let wanted = wanted?.scalarNumber else { return true }
        guard let bound = bound?.scalarNumber else { return false }
        return bound.compared(to: wanted) * sign >= 0
    }

    /// Whether no value that fits this schema, null aside, can fit the other.
    func excludes(_ other: ValueSchema) -> Bool {
        if other.isOpen { return false }
        if let choices {
            return choices.allSatisfy { other.problem(of: $0, at: []) != nil }
        }
        if type == .any || other.type == .any { return other.excludesKind(of: type) }
        if type == other.type || (type.isNumeric && other.type.isNumeric) {
            return other.choices.map { $0.allSatisfy { problem(of: $0, at: []) != nil } } ?? false
        }
        return true
    }

    /// Whether a schema of choices has none of a type.
    private func excludesKind(of type: PayloadType) -> Bool {
        guard let choices, type != .any else { return false }
        return !choices.contains { type.admits($0) }
    }

    /// Whether a value of this type may fit it.
    func mayBe(_ type: PayloadType) -> Bool {
        if let choices { return choices.contains { type.admits($0) } }
        return self.type == .any || self.type == type || (self.type.isNumeric && type.isNumeric)
    }
}

extension PayloadType {
    var isNumeric: Bool { self == .integer || self == .number }
}
