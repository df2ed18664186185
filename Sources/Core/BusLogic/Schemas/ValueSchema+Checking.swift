import BusJSON
import BusProtocol
import BusState

/// Values are held against a schema.
extension ValueSchema {
    /// What is wrong with a value that stands at `path`; nil when it fits.
    func problem(of value: JSON, at path: [String]) -> SchemaProblem? {
        var looked = 0
        return problem(of: value, &looked)?.inside(path)
    }

    /// What is wrong with a value, and where in it; nil when it fits. The cost grows with the value, and `looked`
    /// counts how many values were looked at.
    ///
    /// Recursion is bounded by the depth of schemas.
    func problem(of value: JSON, _ looked: inout Int) -> SchemaProblem? {
        looked += 1
        if value.isNull, isNullable { return nil }
        if let choices, let allowed, !allowed.contains(value) {
            return SchemaProblem("must be \(Self.list(choices)), not \(Self.shown(value))")
        }
        guard types?.contains(where: { $0.admits(value) }) ?? type.admits(value) else {
            return SchemaProblem("must be \(phrase), not \(value.phrase)")
        }
        switch value {
        case .int(let number): return problem(of: .int(number), value)
        case .double(let number): return problem(of: .double(number), value)
        case .string(let text): return problem(of: text)
        case .array(let elements): return problem(of: elements, &looked)
        case .object(let object): return problem(of: object, &looked)
        default: return nil
        }
    }

    private func problem(of number: Number, _ value: JSON) -> SchemaProblem? {
        if let minimum, let bound = minimum.scalarNumber, number.compared(to: bound) < 0 {
            return SchemaProblem("must be at least \(minimum.encoded), not \(value.encoded)")
        }
        if let maximum, let bound = maximum.scalarNumber, number.compared(to: bound) > 0 {
            return SchemaProblem("must be at most \(maximum.encoded), not \(value.encoded)")
        }
        if let least = words.exclusiveMinimum, let bound = least.scalarNumber, number.compared(to: bound) <= 0
        {
            return SchemaProblem("must be more than \(least.encoded), not \(value.encoded)")
        }
        if let most = words.exclusiveMaximum, let bound = most.scalarNumber, number.compared(to: bound) >= 0 {
            return SchemaProblem("must be less than \(most.encoded), not \(value.encoded)")
        }
        return nil
    }

    private func problem(of text: String) -> SchemaProblem? {
        guard minLength != nil || maxLength != nil else { return nil }
        let length = text.unicodeScalars.count
        if let minLength, length < minLength {
            return SchemaProblem("must have at least \(Self.count(minLength, "character")), not \(length)")
        }
        if let maxLength, length > maxLength {
            return SchemaProblem("must have at most \(Self.count(maxLength, "character")), not \(length)")
        }
        return nil
    }

    private func problem(of elements: [JSON], _ looked: inout Int) -> SchemaProblem? {
        if let problem = problem(ofCount: elements.count) { return problem }
        if areUnique, let problem = problem(ofRepeated: elements, &looked) { return problem }
        guard let items, !items.isOpen else { return nil }
        for (index, element) in elements.enumerated() {
            if let problem = items.problem(of: element, &looked) { return problem.inside(String(index)) }
        }
        return nil
    }

    /// What is wrong with the number of an array's elements.
    func problem(ofCount count: Int) -> SchemaProblem? {
        if let minItems, count < minItems {
            return SchemaProblem("must have at least \(Self.count(minItems, "element")), not \(count)")
        }
        guard let maxItems, count > maxItems else { return nil }
        return SchemaProblem("must have at most \(Self.count(maxItems, "element")), not \(count)")
    }

    /// What is wrong with elements of which one equals another. The cost grows with their size.
    private func problem(ofRepeated elements: [JSON], _ looked: inout Int) -> SchemaProblem? {
        var seen: [[UInt8]: Int] = [:]
        for (index, element) in elements.enumerated() {
            let bytes = Array(element.canonical.encoded.utf8)
            looked += 1 + bytes.count / 16
            if let first = seen.updateValue(index, forKey: bytes) {
                return SchemaProblem(
                    "must have no element twice, and \(first) and \(index) are both \(Self.shown(element))")
            }
        }
        return nil
    }

    private func problem(of object: JSONObject, _ looked: inout Int) -> SchemaProblem? {
        if let values {
            for member in object.members {
                if let problem = values.problem(of: member.value, &looked) {
                    return problem.inside(member.key)
                }
            }
        }
        guard properties != nil else { return nil }
        for member in object.members {
            guard let property = property(member.key) else { return unnamed(member.key) }
            if let problem = property.schema.problem(of: member.value, &looked) {
                return problem.inside(member.key)
            }
        }
        return missing(in: object)
    }

    /// The member that an object lacks.
    func missing(in object: JSONObject) -> SchemaProblem? {
        for property in properties ?? [] where property.isRequired && object[property.name] == nil {
            return SchemaProblem("must have a member \(property.name)")
        }
        return nil
    }

    /// The refusal of a member that an object does not name.
    func unnamed(_ key: String) -> SchemaProblem {
        let hint = suggestion(for: key, among: (properties ?? []).map(\.name))
        let end = hint.hasSuffix(".") ? String(hint.dropLast()) : hint
        return SchemaProblem("is not a declared property; \(end)", at: [key])
    }

    // MARK: Words

    /// The type with its article, for messages: "an integer or null".
    package var phrase: String {
        let names = (types ?? [type]).map(\.phrase) + (isNullable ? ["null"] : [])
        return names.dropLast().joined(separator: ", ") + (names.count > 1 ? " or " : "")
            + names[names.count - 1]
    }

    /// The only values, for messages: "one of auto, manual".
    static func list(_ choices: [JSON]) -> String {
        let shown = choices.prefix(20).map { choice in
            if case .string(let text) = choice { return text }
            return choice.encoded
        }
        let all = (choices.count > 20 ? shown + ["…"] : shown).joined(separator: ", ")
        return choices.count == 1 ? all : "one of \(all)"
    }

    /// A value in a message: itself, if it is short, else its kind.
    static func shown(_ value: JSON) -> String {
        switch value {
        case .array, .object: return value.phrase
        case .string(let text):
            if text.utf8.count > 60 { return "a longer text" }
            return text.isEmpty ? "an empty text" : text
        default: return value.encoded
        }
    }

    static func count(_ count: Int, _ what: String) -> String {
        count == 1 ? "1 \(what)" : "\(count) \(what)s"
    }
}

extension JSON {
    /// The same for all values that are equal: numbers without a fraction are integers.
    fileprivate var canonical: JSON {
        switch self {
        case .double(let number): Int(exactly: number).map { .int($0) } ?? self
        case .array(let elements): .array(elements.map(\.canonical))
        case .object(let object):
            .object(JSONObject(sorted: object.members.map { .init(key: $0.key, value: $0.value.canonical) }))
        default: self
        }
    }
}
