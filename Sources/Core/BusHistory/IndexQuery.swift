/// What a commit can be looked up by. The index keeps a hash of 32 bits. A collision only costs time, because what is found is
/// checked.
enum IndexTerm {
    case by(String)
    /// The name of an action, or of what else a commit did.
    case action(String)
    /// The address of a step: a store, a whole type, or `*`.
    case target(String)
    /// The type in the address of a step.
    case type(String)
    /// A member of a payload and its value.
    case payload(String, String)

    /// The longest text of a payload that is indexed, in bytes.
    private static let longest = 64
    /// The highest number of a payload that is indexed. Higher and negative ones are mostly measurements, and no names.
    static let highest = 65_535

    /// Whether a value of a payload is indexed, as a text or as the number that the text is.
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

/// A question to the index. The answer has all entries for which it holds, and may have others.
indirect enum IndexQuery {
    case term(IndexTerm)
    case any([IndexQuery])
    /// With nothing in it: every entry.
    case all([IndexQuery])

    var isEverything: Bool {
        if case .all(let parts) = self { return parts.allSatisfy(\.isEverything) }
        return false
    }

    /// Whether it holds for something that has these terms.
    func holds(_ has: (IndexTerm) -> Bool) -> Bool {
        switch self {
        case .term(let term): has(term)
        case .any(let parts): parts.contains { $0.holds(has) }
        case .all(let parts): parts.allSatisfy { $0.holds(has) }
        }
    }
}

/// The place of an entry in the log: its group, and its offset in the group in bytes.
struct EntryPlace: Comparable {
    let group: Int
    let offset: Int

    static func < (one: EntryPlace, other: EntryPlace) -> Bool {
        (one.group, one.offset) < (other.group, other.offset)
    }
}
