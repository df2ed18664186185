import BusJSON

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
