import BusJSON

/// A member of a state or a payload, as languages print it.
struct PrintedMember {
    let name: String
    let schema: Schema
    let isOptional: Bool
    let comment: [String]

    /// Members that are read have their fallbacks; those that are sent may leave it to the bus.
    init(_ member: Member, isRead: Bool) {
        name = member.name
        schema = member.schema
        isOptional = isRead ? member.mayBeAbsent : member.isOptional
        let fallback = isRead ? nil : member.fallback.map { "Default: \($0.encoded)" }
        comment = SourceText.lines(of: schema.summary) + schema.remarks + SourceText.lines(of: fallback)
    }

    /// The members of a state.
    static func all(of type: TypeDescription) -> [PrintedMember] {
        (type.members + type.computed).map { PrintedMember($0, isRead: true) }
    }
}

/// The parts of a type that get names of their own: each once, however often it occurs.
struct NamedParts {
    /// All names that are taken beside them.
    var names: NameTable
    private var parts: [(shape: Schema.Shape, name: String)] = []
    private var written = 0

    init(_ names: NameTable) { self.names = names }

    /// - Parameter hint: The name of a part that has none yet.
    mutating func name(of shape: Schema.Shape, _ hint: String) -> String {
        if let known = parts.first(where: { $0.shape == shape }) { return known.name }
        let name = names.claim(hint)
        parts.append((shape, name))
        return name
    }

    /// The next one to write, which may name others; nil after the last.
    mutating func next() -> (shape: Schema.Shape, name: String)? {
        guard written < parts.count else { return nil }
        written += 1
        return parts[written - 1]
    }
}
