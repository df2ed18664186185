import BusCEL
import Testing

/// What the grammar makes of a text; brackets in the printed form show what belongs together.
struct ReadingTests {
    @Test(arguments: [
        ("a+b*c-d", "a + b * c - d"), ("(a+b)*c", "(a + b) * c"), ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"), ("a&&b||c&&d", "a && b || c && d"), ("a&&(b||c)", "a && (b || c)"),
        ("(a&&b)&&c", "(a && b) && c"), ("!a==b", "!a == b"), ("!(a==b)", "!(a == b)"),
        ("-a.b", "-a.b"), ("(-a).b", "(-a).b"), ("-(5)", "-(5)"), ("- 5", "-5"), ("--5", "--5"),
        ("-(5.b)", "-(5.b)"), ("a ? b : c ? d : e", "a ? b : c ? d : e"),
        ("(a ? b : c) ? d : e", "(a ? b : c) ? d : e"), ("a in b == c", "a in b == c"),
        ("a in (b == c)", "a in (b == c)"), ("a.?b.c[?0][1]", "a.?b.c[?0][1]"),
        ("[?a,b,]", "[?a, b]"), ("{?'k':a,b:1,}", "{?\"k\": a, b: 1}"), ("f()", "f()"),
        ("a.f(b,c).g", "a.f(b, c).g"),
        ("a.`b-c/d.e f`", "a.`b-c/d.e f`"), ("a.`b`", "a.b"), ("a.if.package", "a.if.package"),
        ("a // to the end\n + b", "a + b"), ("0x1F", "31"), ("-0x8000000000000000", "-9223372036854775808"),
        (".5e1", "5.0"), ("1.e5", "1.e5"), ("1e3", "1000.0"), ("-0.0", "-0.0"), ("1e300", "1e+300"),
        ("r'\\n'", #""\\n""#), (#"R"\d""#, #""\\d""#), ("'''a'b\nc'''", #""a'b\nc""#), ("''", "\"\""),
        (#"'\x41\101\u00e9\U0001F600\?\`'"#, "\"AAé😀?`\""), ("'''a\r\nb\rc'''", #""a\nb\nc""#),
        ("'\u{1}'", #""\x01""#), (#"'\/\ud83d\ude00\uD83D\uDE00'"#, "\"/😀😀\""),
    ])
    func textIsReadAsTheGrammarSays(_ text: String, _ printed: String) throws {
        let term = try Term(parsing: text)
        #expect(term.description == printed)
        #expect(try Term(parsing: printed) == term)
    }

    @Test(arguments: [
        ("", 1, "the expression is empty; write one, such as state.count + 1."),
        ("a = b", 3, "`=` means nothing here; write == to compare."),
        ("a and b", 3, "an operator or the end is missing before `and`; write && for `and`."),
        ("a & b", 3, "`&` means nothing here; write && for `and`."),
        ("not a", 5, "an operator or the end is missing before `a`."),
        ("a is b", 3, "an operator or the end is missing before `is`; write == to compare."),
        ("list.0", 5, "an element is written in brackets, such as list[0]."),
        ("f(a", 4, "a comma or a closing ) is missing"),
        ("[1", 3, "a comma or a closing ] is missing"), ("{a}", 3, "a : behind the key is missing"),
        ("a ? b", 6, "the : of a conditional (a ? b : c) is missing"),
        ("a +", 4, "a value is missing before the end."),
        ("x == b'y'", 6, "there are no bytes here; write the text without b."),
        ("1u", 1, "there are no unsigned integers here; write 1."),
        ("0x1fU", 1, "there are no unsigned integers here"),
        ("0x", 1, "0x has no digits"), ("3px", 1, "3 runs into the letters behind it"),
        ("9223372036854775808", 1, "an integer has at most 64 bits"),
        ("99999999999999999999", 1, "at most 64 bits"),
        ("1e999", 1, "1e999 is too large for a number"),
        ("a.in", 3, "`in` can't follow a point as it is; write [\"in\"]."),
        ("else", 1, "`else` is a reserved word"), ("'abc", 1, "this text has no end; write ' behind it."),
        ("'a\nb'", 1, "this text has no end"), ("\"\"\"a\"", 1, "write \"\"\" behind it."),
        (#"'\q'"#, 2, "this escape means nothing"), (#"'\ud800'"#, 2, "half of a character"),
        (#"'\ud83dé'"#, 2, "half of a character"), (#"'a\ude00\ud83d'"#, 3, "half of a character"),
        (#"'\ud83d\u0041'"#, 2, "half of a character"), (#"'\ud83d\ude0'"#, 2, "half of a character"),
        (#"'\U00110000'"#, 2, "this escape means nothing"),
        ("Thing{a: 1}", 6, "there are no messages such as Thing{…} here"),
        ("\u{201c}a\u{201d}", 1, "write \"…\" or '…'."),
        ("a ^ b", 3, "write math.bitXor(a, b)"), ("`a`", 1, "a name in backticks stands behind a point"),
        ("a.`b?`", 3, "a name in backticks has letters"), (".a", 1, "a name stands before the point"),
        ("a.?b()", 5, "an operator or the end is missing before `(`."),
        ("é + 1", 1, "`é` means nothing here"),
    ])
    func mistakeNamesItsPlaceAndWhatToWrite(_ text: String, _ column: Int, _ message: String) {
        let error = #expect(throws: TermError.self) { try Term(parsing: text) }
        #expect(error?.position == Term.Position(line: 1, column: column))
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test func placesCountLinesAndScalars() throws {
        let error = #expect(throws: TermError.self) { try Term(parsing: "'é😀' +\n  'x' = 1") }
        #expect(error?.description.hasPrefix("line 2, column 7: ") == true)
        let start = Term.Position(line: 1, column: 3)
        let term = try Term(parsing: "a.b", from: start)
        #expect(term.position == Term.Position(line: 1, column: 5))
    }
}
