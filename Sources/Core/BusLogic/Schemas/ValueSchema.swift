import BusJSON
import BusProtocol

/// What a value has to be: a member of a state or a payload, or a part of one, in JSON Schema's words.
///
/// A schema that says only a type takes every value of it; `isOpen` ones take everything. It never changes.
package final class ValueSchema: Sendable {
    /// A named member of an object.
    package struct Property: Sendable {
        package let name: String
        package let schema: ValueSchema
        /// Whether the object always has it: it says so, or there is a default.
        package let isRequired: Bool
    }

    /// The words of a schema, as a definition writes them.
    package struct Words: Sendable {
        package var type = PayloadType.any
        package var isNullable = false
        /// The types of a union; `type` is `any` then.
        package var types: [PayloadType]?
        /// `enum` or `const`: the only values, in written order.
        package var choices: [JSON]?
        /// Integers or doubles.
        package var minimum: JSON?
        package var maximum: JSON?
        /// Bounds that can't be reached.
        package var exclusiveMinimum: JSON?
        package var exclusiveMaximum: JSON?
        /// In Unicode scalars.
        package var minLength: Int?
        package var maxLength: Int?
        package var items: ValueSchema?
        package var minItems: Int?
        package var maxItems: Int?
        /// `uniqueItems`.
        package var areUnique = false
        /// `overflow: dropOldest`: what is appended beyond `maxItems` takes the place of the first elements.
        package var dropsOldest = false
        /// The named members of an object, ascending by the bytes of their names; it has no others.
        package var properties: [Property]?
        /// What every member of an object is that is used as a map.
        package var values: ValueSchema?
        package var fallback: JSON?
        package var summary: String?

        package init(_ type: PayloadType = .any) { self.type = type }
    }

    package let words: Words
    /// `enum`, as values are held against it.
    let allowed: Choices?
    /// Whether something inside of its values has a default, and whether any array drops elements, this one included.
    let fillsIn: Bool
    let dropsAny: Bool

    package init(_ words: Words) {
        self.words = words
        allowed = words.choices.map { Choices($0) }
        let parts = (words.properties ?? []).map(\.schema) + [words.items, words.values].compactMap(\.self)
        fillsIn =
            words.properties?.contains { $0.schema.fallback != nil } == true
            || parts.contains(where: \.fillsIn)
        dropsAny = words.dropsOldest || parts.contains(where: \.dropsAny)
    }

    /// Takes every value.
    package static let any = ValueSchema(Words())
    package static let null: ValueSchema = {
        var words = Words()
        words.choices = [.null]
        return ValueSchema(words)
    }()

    package var type: PayloadType { words.type }
    package var isNullable: Bool { words.isNullable }
    package var types: [PayloadType]? { words.types }
    package var choices: [JSON]? { words.choices }
    package var minimum: JSON? { words.minimum }
    package var maximum: JSON? { words.maximum }
    package var minLength: Int? { words.minLength }
    package var maxLength: Int? { words.maxLength }
    package var items: ValueSchema? { words.items }
    package var minItems: Int? { words.minItems }
    package var maxItems: Int? { words.maxItems }
    package var areUnique: Bool { words.areUnique }
    package var dropsOldest: Bool { words.dropsOldest }
    package var properties: [Property]? { words.properties }
    package var values: ValueSchema? { words.values }
    /// `default`.
    package var fallback: JSON? { words.fallback }
    package var summary: String? { words.summary }

    /// Whether it takes every value.
    package var isOpen: Bool { type == .any && choices == nil && types == nil }

    /// Whether its values are looked at whole, whatever is written inside of them.
    var isWhole: Bool { choices != nil || types != nil || areUnique }

    /// Whether it says more than its type.
    package var isNarrow: Bool {
        isNullable || types != nil || choices != nil || fillsIn || hasBounds || items != nil
            || properties != nil || values != nil
    }

    /// Whether it has any word that says how large values are.
    var hasBounds: Bool {
        minimum != nil || maximum != nil || words.exclusiveMinimum != nil || words.exclusiveMaximum != nil
            || minLength != nil || maxLength != nil || minItems != nil || maxItems != nil || areUnique
    }

    package func property(_ name: String) -> Property? {
        guard let properties else { return nil }
        var (low, high) = (0, properties.count)
        while low < high {
            let middle = (low + high) / 2
            let order = UTF8Order.compare(properties[middle].name, name)
            if order == 0 { return properties[middle] }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// What stands inside a value of this schema.
    enum Inside {
        /// Anything may.
        case open
        case schema(ValueSchema)
        /// Nothing may: an object does not name the member, an array has no such index, or there is no inside.
        case nothing
    }

    /// What a key or an index leads to.
    func inside(_ segment: String) -> Inside {
        switch type {
        case .any: return .open
        case .array:
            guard arrayHolds(segment) else { return .nothing }
            return items.map { .schema($0) } ?? .open
        case .object:
            if let values { return .schema(values) }
            guard properties != nil else { return .open }
            return property(segment).map { .schema($0.schema) } ?? .nothing
        default: return .nothing
        }
    }

    private func arrayHolds(_ segment: String) -> Bool {
        !segment.isEmpty && segment.utf8.allSatisfy { 48...57 ~= $0 }
    }
}

/// `default` inside of objects.
extension ValueSchema {
    /// A value with the properties that it lacks and that have a default. Anything that does not fit stays as it is.
    func filled(_ value: JSON) -> JSON {
        guard fillsIn, choices == nil else { return value }
        switch value {
        case .array(let elements): return items.map { items in .array(elements.map(items.filled)) } ?? value
        case .object(var object):
            if let values {
                for member in object.members { object[member.key] = values.filled(member.value) }
            }
            for property in properties ?? [] {
                object[property.name] = (object[property.name] ?? property.schema.fallback).map(
                    property.schema.filled)
            }
            return .object(object)
        default: return value
        }
    }

    /// What is wrong with a value where its defaults are filled in; nil when it fits.
    func problem(ofFilled value: JSON, at path: [String] = []) -> SchemaProblem? {
        problem(of: filled(value), at: path)
    }
}
