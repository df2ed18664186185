import BusJSON

/// Gives `value` as JSON text in a random guise: white space wherever it may stand, escapes where none are
/// needed, members in any order. Reading it gives `value`.
package func disguised(_ value: JSON, using generator: inout SeededGenerator) -> [UInt8] {
    var text: [UInt8] = []
    disguise(value, into: &text, using: &generator)
    return text
}

private func disguise(_ value: JSON, into text: inout [UInt8], using generator: inout SeededGenerator) {
    space(into: &text, using: &generator)
    switch value {
    case .string(let string):
        disguise(string, into: &text, using: &generator)
    case .array(let elements):
        text.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            disguise(element, into: &text, using: &generator)
        }
        if elements.isEmpty { space(into: &text, using: &generator) }
        text.append(UInt8(ascii: "]"))
    case .object(let object):
        text.append(UInt8(ascii: "{"))
        for (index, member) in object.members.shuffled(using: &generator).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            space(into: &text, using: &generator)
            disguise(member.key, into: &text, using: &generator)
            space(into: &text, using: &generator)
            text.append(UInt8(ascii: ":"))
            disguise(member.value, into: &text, using: &generator)
        }
        if object.isEmpty { space(into: &text, using: &generator) }
        text.append(UInt8(ascii: "}"))
    default:
        text += value.encoded.utf8
    }
    space(into: &text, using: &generator)
}

private func disguise(_ string: String, into text: inout [UInt8], using generator: inout SeededGenerator) {
    text.append(UInt8(ascii: "\""))
    for scalar in string.unicodeScalars {
        if generator.oneIn(12) {
            for unit in Character(scalar).utf16 {
                let digits = String(unit, radix: 16, uppercase: generator.oneIn(2))
                text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            }
        } else if scalar == "/" && generator.oneIn(2) {
            text += "\\/".utf8
        } else {
            text += JSON.string(String(scalar)).encoded.utf8.dropFirst().dropLast()
        }
    }
    text.append(UInt8(ascii: "\""))
}

private func space(into text: inout [UInt8], using generator: inout SeededGenerator) {
    guard generator.oneIn(10) else { return }
    for _ in 0...Int.random(in: 0...2, using: &generator) {
        text.append([0x20, 0x09, 0x0a, 0x0d].randomElement(using: &generator) ?? 0x20)
    }
}

/// Gives `line` with one to four random injuries: bytes changed, lost, doubled or swapped in from elsewhere.
package func mutated(_ line: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
    var line = line
    for _ in 0...Int.random(in: 0...3, using: &generator) {
        let place = Int.random(in: 0...line.count, using: &generator)
        let length = min(line.count - place, Int.random(in: 0...8, using: &generator))
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: line.removeSubrange(place..<place + length)
        case 1: line.insert(contentsOf: line[place..<place + length], at: place)
        case 2: line.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        case 3:
            line.replaceSubrange(
                place..<place + length, with: fragments.randomElement(using: &generator) ?? [])
        case 4: line.removeSubrange(place...)
        default: if place < line.count { line[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
        }
    }
    return line
}

/// Gives a line made of pieces of JSON in no order.
package func randomSoup(using generator: inout SeededGenerator) -> [UInt8] {
    var line: [UInt8] = []
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
        line += fragments.randomElement(using: &generator) ?? []
    }
    return line
}

/// What breaks readers: syntax, edges of numbers, halves of escapes and of UTF-8 sequences.
private let fragments: [[UInt8]] =
    [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "{\"a\":", "\"a\"", "[]", "{}", "true", "false", "null",
        "tru",
        "0", "-0", "-", "1", "01", "1.", "1.5", ".5", "1e", "1e5", "1E+5", "1e-5", "1e400", "1e-400", "+1",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "0.1000000000000000055511151231257827", "NaN", "Infinity",
        "\\u0041",
        "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u12", "\\x", "\\n", "\n", "\t", " ", "\u{b}", "\u{feff}",
        "//",
        "/**/", "'", "\u{0}", "\u{1f}", "\u{7f}", "\u{e9}", "\u{1f600}", "\"\\u0061\":1,\"a\":2",
    ].map { Array($0.utf8) } + [
        [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff], [0xe2, 0x82],
    ]
