/// A pattern over one half of an address: `*` is any run of characters, `?` one of them, nothing else is
/// special. Names hold no slash, so neither does what they match.
package struct Glob: Sendable, Hashable {
    package let pattern: [UInt8]

    package init(_ pattern: [UInt8]) {
        // Runs of stars mean one star; collapsing them keeps matching linear in practice.
        var collapsed: [UInt8] = []
        for byte in pattern where byte != Self.star || collapsed.last != Self.star { collapsed.append(byte) }
        self.pattern = collapsed
    }

    /// Matches everything.
    package var isAny: Bool { pattern == [Self.star] }

    /// Holds neither `*` nor `?`.
    package var isLiteral: Bool { !pattern.contains(Self.star) && !pattern.contains(Self.one) }

    /// The bytes before the first wildcard: everything that matches begins with them.
    package var literalPrefix: ArraySlice<UInt8> {
        pattern.prefix { $0 != Self.star && $0 != Self.one }
    }

    /// Whether the whole of `text` matches. Takes at most `text.count * pattern.count` steps, no recursion.
    package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        pattern.withUnsafeBytes { pattern in
            var at = 0
            var place = 0
            var starAt = -1
            var starPlace = 0
            while place < text.count {
                if at < pattern.count, pattern[at] == Self.star {
                    starAt = at
                    starPlace = place
                    at += 1
                } else if at < pattern.count, pattern[at] == Self.one || pattern[at] == text[place] {
                    at += 1
                    place += 1
                } else if starAt >= 0 {
                    at = starAt + 1
                    starPlace += 1
                    place = starPlace
                } else {
                    return false
                }
            }
            while at < pattern.count, pattern[at] == Self.star { at += 1 }
            return at == pattern.count
        }
    }

    package func matches(_ text: String) -> Bool {
        text.utf8Span.span.withUnsafeBytes { matches($0) }
    }

    private static let star = UInt8(ascii: "*")
    private static let one = UInt8(ascii: "?")
}
