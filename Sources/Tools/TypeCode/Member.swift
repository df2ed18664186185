import BusJSON

/// A member of a state, of a payload or of an object inside them.
package struct Member: Sendable, Equatable {
    package let name: String
    package let schema: Schema
    /// Whether a sender may leave it out.
    package let isOptional: Bool
    /// The value that it has when it is left out.
    package let fallback: JSON?
    /// False of a member of a state that is known from `initial` alone: its type may change, and it may go.
    package let isDeclared: Bool

    init(name: String, schema: Schema, isOptional: Bool, fallback: JSON?, isDeclared: Bool = true) {
        self.name = name
        self.schema = schema
        self.isOptional = isOptional
        self.fallback = fallback
        self.isDeclared = isDeclared
    }

    /// A member of a payload: a type's name, with `?` where it may be absent, or an object.
    init(payload name: String, _ source: JSON) {
        let schema = Schema(source)
        let fallback = source["default"].flatMap { schema.admits($0) ? $0 : nil }
        let mark = (source.string ?? source["type"]?.string)?.hasSuffix("?") ?? false
        self.init(
            name: name, schema: schema,
            isOptional: mark || source["optional"]?.bool == true || source["default"] != nil,
            fallback: fallback)
    }

    /// Whether a value of it may be absent, where it is read.
    package var mayBeAbsent: Bool { isOptional && fallback == nil }
}
