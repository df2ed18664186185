import BusCEL
import TestSupport
import Testing

/// Whatever the text, reading it ends, on a small stack, and what is read prints to text that reads back to it.
struct BoundTests {
    @Test(arguments: [
        "(", "[", "{a:", "!", "-", "a[", "f(", "a?b:", "a||a&&a==a+a*(", "a.", "1+", "a.?b", "''+",
    ])
    func deepTextIsRefusedOnASmallStack(_ part: String) throws {
        try SmallStack.run {
            let text = String(repeating: part, count: 10_000 / part.count)
            #expect(throws: TermError.self) { try Term(parsing: text + "a") }
        }
    }

    @Test(arguments: [("(", ")"), ("[", "]"), ("!", ""), ("a||a&&a==a+a*(", ")"), ("{a:", "}"), ("f(", ")")])
    func sixtyLevelsAreReadAndPrintedOnASmallStack(_ opening: String, _ closing: String) throws {
        try SmallStack.run {
            let count = opening.count > 4 ? 12 : 60
            let text =
                String(repeating: opening, count: count) + "a" + String(repeating: closing, count: count)
            let term = try Term(parsing: text)
            #expect(try Term(parsing: term.description) == term)
        }
    }

    @Test func longTextIsRefused() {
        let error = #expect(throws: TermError.self) {
            try Term(parsing: String(repeating: "a||", count: 30_000) + "a")
        }
        #expect(error?.message == "the expression has more than 65536 bytes; shorten it.")
    }

    @Test func chainsOfAndAndOrNestNothing() throws {
        let term = try Term(parsing: String(repeating: "a || b && ", count: 1000) + "c")
        #expect(try Term(parsing: term.description) == term)
    }

    private static let parts = [
        "a", "b.c", "1", "-2", "0.5", "'x'", "\"é\\n\"", "null", "true", "+", "-", "*", "/", "%", "==", "!=",
        "<", "<=",
        ">", ">=", "in", "&&", "||", "!", "?", ":", "(", ")", "[", "]", "{", "}", ",", ".", ".d", ".f(", "g(",
        "[?", ".?",
        "[a]", "{1: b}", "(a)", "a ? b : c", "as", "`", "r'\\'", "'''", " // x\n", "0x7f",
        "9223372036854775808", "1e5",
    ]

    @Test(arguments: 0..<8)
    func randomTextReadsBackToItself(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var read = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...9, using: &random)
            let text = (0..<count).map { _ in Self.parts.randomElement(using: &random) ?? "" }.joined()
            guard let term = try? Term(parsing: text) else { continue }
            read += 1
            let printed = term.description
            #expect((try? Term(parsing: printed)) == term, "Seed \(seed): \(text) → \(printed)")
        }
        #expect(read > 1000)
    }
}
