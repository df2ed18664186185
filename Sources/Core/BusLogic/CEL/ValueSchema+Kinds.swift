import BusJSON
import BusProtocol

/// What is known of values, in a few words: enough to see that an operation can't take one.
extension ValueSchema {
    static let boolean = ValueSchema(Words(.boolean))
    static let integer = ValueSchema(Words(.integer))
    static let number = ValueSchema(Words(.number))
    static let string = ValueSchema(Words(.string))
    static let object = ValueSchema(Words(.object))

    static func constant(_ value: JSON) -> ValueSchema {
        // What is infinite can't be written out, as messages do with choices.
        guard value.isFinite else { return .of(value.kinds) }
        var words = Words()
        words.choices = [value]
        return ValueSchema(words)
    }

    static func array(of element: ValueSchema) -> ValueSchema {
        var words = Words(.array)
        if !element.isOpen { words.items = element }
        return ValueSchema(words)
    }

    /// The kinds that its values may be of.
    var kinds: ValueKinds {
        if let choices {
            return choices.reduce(into: isNullable ? .null : []) { $0.formUnion($1.kinds) }
        }
        let kinds = types.map { Self.kinds(of: $0) } ?? Self.kinds(of: type)
        return isNullable ? kinds.union(.null) : kinds
    }

    @inline(never)
    private static func kinds(of types: [PayloadType]) -> ValueKinds {
        types.reduce(into: []) { $0.formUnion(kinds(of: $1)) }
    }

    private static func kinds(of type: PayloadType) -> ValueKinds {
        switch type {
        case .any: .any
        case .boolean: .bool
        case .integer: .int
        case .number: .number
        case .string: .text
        case .array: .list
        case .object: .map
        }
    }

    /// What is known of values that are surely of some kinds.
    static func of(_ kinds: ValueKinds) -> ValueSchema {
        switch kinds {
        case .bool: .boolean
        case .int: .integer
        case .double, .number: .number
        case .text: .string
        case .list: ValueSchema(Words(.array))
        case .map: .object
        default: .any
        }
    }

    /// What a computed value of it is, as a definition says it: it is null, too, where its expression fails. Nothing where it may be
    /// of several kinds.
    var ofComputed: JSON {
        guard let type = Self.of(kinds.subtracting(.null)).type.word else { return [:] }
        var words: JSONObject = ["type": .string(type), "nullable": true]
        if type == "array" { words["items"] = Self.of(element.kinds).type.word.map(JSON.string) }
        return .object(words)
    }

    /// This schema without its choices and bounds.
    var broad: ValueSchema { kinds == .list ? .array(of: element) : .of(kinds) }

    /// What is known of a value that is one of either.
    @inline(never)
    func union(_ other: ValueSchema) -> ValueSchema {
        if implies(other) { return other }
        if other.implies(self) { return self }
        if kinds == .list, other.kinds == .list { return .array(of: element.union(other.element)) }
        return .of(kinds.union(other.kinds))
    }

    /// What is known of it where it is of these kinds.
    func narrowed(to kinds: ValueKinds) -> ValueSchema {
        kinds.contains(self.kinds) ? self : .of(kinds)
    }

    /// What is known of the elements of a list, or the values of a map.
    var element: ValueSchema {
        if let choices {
            let parts = choices.flatMap { choice -> [JSON] in
                switch choice {
                case .array(let elements): elements
                case .object(let object): object.members.map(\.value)
                default: []
                }
            }
            return .of(parts.reduce(into: []) { $0.formUnion($1.kinds) })
        }
        if let properties {
            return .of(properties.reduce(into: []) { $0.formUnion($1.schema.kinds) })
        }
        return items ?? values ?? .any
    }
}

extension PayloadType {
    /// Nil of any value.
    fileprivate var word: String? { self == .any ? nil : rawValue }
}

extension JSON {
    /// Whether all numbers in it are finite.
    fileprivate var isFinite: Bool {
        switch self {
        case .double(let number): number.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .object(let object): object.members.allSatisfy { $0.value.isFinite }
        default: true
        }
    }
}
