import BusJSON
import BusProtocol

/// What can be said of all values of a schema at once, when a definition is loaded.
extension ValueSchema {
    /// Whether every value that fits this schema surely fits the other.
    func implies(_ other: ValueSchema) -> Bool {
        if other.isOpen { return true }
        if isNullable, other.problem(of: .null, at: []) != nil { return false }
        if let choices { return choices.allSatisfy { other.problem(of: $0, at: []) == nil } }
        if let wanted = other.types {
            // What bounds say of each type is not compared.
            return other.choices == nil && !other.hasBounds && other.items == nil && other.values == nil
                && other.properties == nil
                && (types ?? [type]).allSatisfy {
                    $0 == .integer && wanted.contains(.number) || wanted.contains($0)
                }
        }
        guard other.choices == nil, type == other.type || (type == .integer && other.type == .number) else {
            return false
        }
        switch type {
        case .integer, .number:
            return Self.reaches(lowest, other.lowest, 1) && Self.reaches(highest, other.highest, -1)
        case .string:
            return (minLength ?? 0) >= (other.minLength ?? 0)
                && (maxLength ?? .max) <= (other.maxLength ?? .max)
        case .array:
            return (maxItems ?? .max) <= (other.maxItems ?? .max) && (minItems ?? 0) >= (other.minItems ?? 0)
                && (areUnique || !other.areUnique)
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
    private static func reaches(_ bound: Bound?, _ wanted: Bound?, _ sign: Int) -> Bool {
        guard let wanted else { return true }
        guard let bound else { return false }
        let order = bound.number.compared(to: wanted.number) * sign
        return order > 0 || order == 0 && (bound.isExclusive || !wanted.isExclusive)
    }

    /// A bound of numbers, and whether it can't be reached.
    struct Bound {
        let number: Number
        let isExclusive: Bool
    }

    /// The tighter of the lower bounds, and of the upper ones.
    var lowest: Bound? { Self.tighter(minimum, words.exclusiveMinimum, 1) }
    var highest: Bound? { Self.tighter(maximum, words.exclusiveMaximum, -1) }

    private static func tighter(_ bound: JSON?, _ exclusive: JSON?, _ sign: Int) -> Bound? {
        guard let other = exclusive?.scalarNumber else {
            return bound?.scalarNumber.map { Bound(number: $0, isExclusive: false) }
        }
        if let number = bound?.scalarNumber, number.compared(to: other) * sign > 0 {
            return Bound(number: number, isExclusive: false)
        }
        return Bound(number: other, isExclusive: true)
    }

    /// Whether no value that fits this schema, null aside, can fit the other.
    func excludes(_ other: ValueSchema) -> Bool {
        if other.isOpen { return false }
        if let choices {
            return choices.allSatisfy { other.problem(ofFilled: $0) != nil }
        }
        if let types { return types.allSatisfy { ValueSchema(.init($0)).excludes(other) } }
        if let wanted = other.types, other.choices == nil {
            return wanted.allSatisfy { excludes(ValueSchema(.init($0))) }
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
        if let types { return types.contains { $0 == type || $0.isNumeric && type.isNumeric } }
        return self.type == .any || self.type == type || (self.type.isNumeric && type.isNumeric)
    }
}

extension PayloadType {
    var isNumeric: Bool { self == .integer || self == .number }
}
