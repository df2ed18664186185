/// What commits can be looked up by. The index keeps 32 bits of it: a question looks at what it finds, so two that are alike there
/// cost time only.
enum IndexTerm {
    case by(String)
    /// The name of an action, or of what else a commit did.
    case action(String)
    /// A store, a whole type, or `*`, to which something is addressed.
    case target(String)
    /// A type, to which or to a store of which something is addressed.
    case type(String)
    /// A member of a payload and its value.
    case payload(String, String)

    /// Longer values of payloads are not looked up, in bytes.
    private static let longest = 64
    /// Nor are higher numbers, and negative ones: they are measurements more often than names.
    static let highest = 65_535

    /// Whether a value of a payload is looked up, be it a text or a number.
    static func takes(_ text: String) -> Bool {
        text.utf8.count <= longest && Int(text).map { 0...highest ~= $0 } ?? true
    }

    var hash: UInt32 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ text: String) {
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0xff) &* 0x100_0000_01b3
        }
        switch self {
        case .by(let text): add("b"); add(text)
        case .action(let text): add("a"); add(text)
        case .target(let text): add("c"); add(text)
        case .type(let text): add("t"); add(text)
        case .payload(let name, let value): add("m"); add(name); add(value)
        }
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }
}

/// A question to the index, which answers with the entries that it is true of, and perhaps with more.
indirect enum IndexQuery {
    case term(IndexTerm)
    case any([IndexQuery])
    /// With nothing in it: every entry.
    case all([IndexQuery])

    var isEverything: Bool {
        if case .all(let parts) = self { return parts.allSatisfy(\.isEverything) }
        return false
    }
}

extension IndexQuery {
    /// Whether it is true of an entry with these terms.
    func holds(for hashes: Set<UInt32>) -> Bool {
        switch self {
        case .term(let term): hashes.contains(term.hash)
        case .any(let parts): parts.contains { $0.holds(for: hashes) }
        case .all(let parts): parts.allSatisfy { $0.holds(for: hashes) }
        }
    }
}

/// Where an entry stands: in a group, so many bytes behind its beginning.
struct EntryPlace: Comparable {
    let group: Int
    let offset: Int

    static func < (one: EntryPlace, other: EntryPlace) -> Bool {
        (one.group, one.offset) < (other.group, other.offset)
    }
}
