/// Makes names of programs from names on the wire, which may hold any characters.
enum Identifier {
    /// `text` itself where all languages take it as a name; else its words in the manner of `switchOn`.
    static func camel(_ text: String) -> String {
        if isName(text) { return text }
        let words = words(of: text)
        return named(mapFirst(words[0], lowered) + words.dropFirst().map { mapFirst($0, raised) }.joined())
    }

    /// In the manner of `SwitchOn`.
    static func pascal(_ text: String) -> String {
        named(words(of: text).map { mapFirst($0, raised) }.joined())
    }

    /// In the manner of `switch_on`.
    static func snake(_ text: String) -> String {
        var result = ""
        for word in words(of: text) {
            if !result.isEmpty { result += "_" }
            var before: Character = "_"
            for letter in word {
                if "A"..."Z" ~= letter, "a"..."z" ~= before || "0"..."9" ~= before { result += "_" }
                result += lowered(letter)
                before = letter
            }
        }
        return named(result)
    }

    /// Whether all languages take it as a name, apart from their keywords.
    static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, !isDigit(first) else { return false }
        return text.unicodeScalars.allSatisfy { isLetter($0) || isDigit($0) || $0 == "_" }
            && text.unicodeScalars.contains { $0 != "_" }
    }

    // MARK: Inside

    /// What stands between characters that no name may have; at least one word.
    private static func words(of text: String) -> [String] {
        let words = text.unicodeScalars.split { !isLetter($0) && !isDigit($0) }.map { String($0) }
        return words.isEmpty ? ["unnamed"] : words
    }

    private static func named(_ text: String) -> String {
        text.unicodeScalars.first.map(isDigit) == true ? "_" + text : text
    }

    private static func mapFirst(_ word: String, _ change: (Character) -> String) -> String {
        word.first.map { change($0) + word.dropFirst() } ?? word
    }

    // Only the letters of ASCII: others may become several, or none of these.
    private static func raised(_ letter: Character) -> String {
        letter.isASCII ? letter.uppercased() : String(letter)
    }

    private static func lowered(_ letter: Character) -> String {
        letter.isASCII ? letter.lowercased() : String(letter)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { "0"..."9" ~= scalar }

    /// Letters that stay themselves under every normalization, are written from left to right and may stand in names of
    /// all languages: Latin, Greek, Cyrillic, Kana, Han, Hangul.
    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x41...0x5a, 0x61...0x7a, 0xc0...0xd6, 0xd8...0xf6, 0xf8...0x131, 0x134...0x13e, 0x141...0x148,
            0x14a...0x17e, 0x391...0x3a1, 0x3a3...0x3a9, 0x3b1...0x3c9, 0x410...0x44f, 0x3041...0x3096,
            0x30a1...0x30fa, 0x4e00...0x9fff, 0xac00...0xd7a3:
            true
        default: false
        }
    }
}

/// The names that are taken in one scope of a program.
struct NameTable {
    private var taken: Set<String> = []
    /// Names that mean something already.
    private let reserved: Set<String>

    init(reserved: Set<String> = []) { self.reserved = reserved }

    /// The name itself; with a stroke behind it where it is reserved, and with a number where it is taken.
    mutating func claim(_ wanted: String) -> String {
        let stem = reserved.contains(wanted) ? wanted + "_" : wanted
        var name = stem
        var number = 2
        while reserved.contains(name) || !taken.insert(name).inserted {
            name = "\(stem)\(number)"
            number += 1
        }
        return name
    }

    /// A name for each text, in their order. Who is a name already keeps it before others are made like it.
    mutating func claim(_ texts: [String], _ style: (String) -> String) -> [String] {
        var names = [String](repeating: "", count: texts.count)
        for isPlain in [true, false] {
            for (index, text) in texts.enumerated() where (style(text) == text) == isPlain {
                names[index] = claim(style(text))
            }
        }
        return names
    }
}
