import BusCEL

/// Text of an expression: it is refused with a place, or prints to text that reads back to the same term.
enum ExpressionTarget: FuzzTarget {
    static let name = "Expression"

    static func seeds() -> [[UInt8]] {
        [
            "state.a[0].?b.orValue({?'k': -1.5e3, \"l\": [?x, 0x1f]}) >= 2 && !('a' in m) || c ? d : e",
            "[1, 2].exists(i, v, v % 2 == i) ? '''a\n'b''' : r'\\d' + \"\\u00e9\\U0001f600\\101\\x41\"",
            "x.`a-b/c` - -(5.d) // words\n != f(null, true)",
        ].map { Array($0.utf8) }
    }

    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(TermError) {
            let term = try Term(parsing: text)
            let printed = term.description
            demand((try? Term(parsing: printed)) == term, "\(printed) does not read back to what it is.")
            return true
        } catch {
            demand(error.position.line > 0 && error.position.column > 0, "An error has no place: \(error)")
            return false
        }
    }
}
