import BusJSON

/// Gives a random value of at most `depth` levels, rich in what goes wrong: edges of numbers, escapes, keys
/// that are prefixes of each other or equal only by Unicode equivalence, empty containers.
package func randomJSON(using generator: inout SeededGenerator, depth: Int = 4) -> JSON {
    let kinds = depth > 0 ? 8 : 6
    switch Int.random(in: 0..<kinds, using: &generator) {
    case 0: return .null
    case 1: return .bool(generator.oneIn(2))
    case 2: return .int(randomInteger(using: &generator))
    case 3: return .double(randomDouble(using: &generator))
    case 4, 5: return .string(randomString(using: &generator))
    case 6:
        let count = Int.random(in: 0...5, using: &generator)
        return .array((0..<count).map { _ in randomJSON(using: &generator, depth: depth - 1) })
    default:
        return .object(randomJSONObject(using: &generator, depth: depth))
    }
}

/// Gives a random object of at most `depth` levels.
package func randomJSONObject(using generator: inout SeededGenerator, depth: Int = 4) -> JSONObject {
    var object = JSONObject()
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
        object[randomKey(using: &generator)] = randomJSON(using: &generator, depth: depth - 1)
    }
    return object
}

/// Gives `value` with a few random changes, as one commit changes a state.
package func randomlyChanged(
    _ value: JSON, using generator: inout SeededGenerator, depth: Int = 4
) -> JSON {
    if generator.oneIn(8) { return randomJSON(using: &generator, depth: depth) }
    switch value {
    case .object(var object):
        for key in object.keys where generator.oneIn(3) {
            guard !generator.oneIn(4), let member = object[key] else {
                object[key] = nil
                continue
            }
            object[key] = randomlyChanged(member, using: &generator, depth: depth - 1)
        }
        if generator.oneIn(3) {
            object[randomKey(using: &generator)] = randomJSON(using: &generator, depth: depth - 1)
        }
        return .object(object)
    case .array(var elements):
        for index in elements.indices where generator.oneIn(4) {
            elements[index] = randomlyChanged(elements[index], using: &generator, depth: depth - 1)
        }
        if generator.oneIn(3) {
            let index = Int.random(in: 0...elements.count, using: &generator)
            elements.insert(randomJSON(using: &generator, depth: depth - 1), at: index)
        }
        if !elements.isEmpty, generator.oneIn(3) {
            elements.remove(at: Int.random(in: 0..<elements.count, using: &generator))
        }
        return .array(elements)
    default:
        return generator.oneIn(2) ? value : randomJSON(using: &generator, depth: depth)
    }
}

/// Gives a random integer, often at an edge.
package func randomInteger(using generator: inout SeededGenerator) -> Int {
    let edges = [0, 1, -1, 9, 10, 99, 100, 1 << 53, Int.max, Int.max - 1, Int.min, Int.min + 1]
    if generator.oneIn(3), let edge = edges.randomElement(using: &generator) { return edge }
    return Int(truncatingIfNeeded: generator.next()) >> Int.random(in: 0..<64, using: &generator)
}

/// Gives a random finite double: often a short decimal, often any bit pattern.
package func randomDouble(using generator: inout SeededGenerator) -> Double {
    let edges = [
        0.0, -0.0, 1.0, -1.5, 0.1, 1e21, 1e-7, 1e16, 1e22, 1e23, Double.leastNonzeroMagnitude,
        2.2250738585072014e-308,
        1.7976931348623157e308, 9_007_199_254_740_992,
    ]
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: return edges.randomElement(using: &generator) ?? 0
    case 1: return Double(Int.random(in: -99_999...99_999, using: &generator)) / 100
    default:
        let number = Double(bitPattern: generator.next())
        return number.isFinite ? number : 0.25
    }
}

/// Gives a random key out of few, so that objects share keys.
package func randomKey(using generator: inout SeededGenerator) -> String {
    let keys = [
        "", "a", "b", "ab", "a/b", "m~n", "~1", "\u{e9}", "e\u{301}", "\u{1f600}", "quote\"", "back\\slash",
        "line\nbreak", "0", "1", "-", "count", "a key longer than fifteen bytes",
    ]
    return keys.randomElement(using: &generator) ?? ""
}

/// Gives a random string, from empty to longer than any small-string form, some with escapes.
package func randomString(using generator: inout SeededGenerator) -> String {
    let scalars: [Unicode.Scalar] = [
        "a", "b", "z", "0", " ", "\"", "\\", "/", "\n", "\t", "\r", "\u{8}", "\u{c}", "\u{0}", "\u{1f}",
        "\u{7f}",
        "\u{e9}", "e", "\u{301}", "\u{20ac}", "\u{ffff}", "\u{2028}", "\u{feff}", "\u{d7ff}", "\u{e000}",
        "\u{1f600}", "\u{10ffff}",
    ]
    let plain = generator.oneIn(2)
    let longest = generator.oneIn(8) ? 200 : 20
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...longest, using: &generator) {
        text.append((plain ? scalars[..<5] : scalars[...]).randomElement(using: &generator) ?? "a")
    }
    return String(text)
}
