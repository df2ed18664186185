/// One part of an expression of the Common Expression Language, with the place where it begins.
///
/// Two terms are equal when they mean the same, wherever they stand. No term nests deeper than `deepest`.
package struct Term: Sendable {
    /// A place in the text of an expression.
    package struct Position: Sendable, Equatable, CustomStringConvertible {
        /// Counted from 1.
        package let line: Int
        /// Counted from 1, in Unicode scalars.
        package let column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package var description: String { "line \(line), column \(column)" }
    }

    package enum Unary: String, Sendable {
        case not = "!"
        case negative = "-"
    }

    package enum Binary: String, Sendable, CaseIterable {
        case equal = "=="
        case unequal = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case isIn = "in"
        case sum = "+"
        case difference = "-"
        case product = "*"
        case quotient = "/"
        case remainder = "%"
    }

    /// An element of a list; with a question mark it is an optional, and left out where that is empty.
    package struct Element: Sendable, Equatable {
        package let value: Term
        package let isOptional: Bool
    }

    /// A member of a map; with a question mark its value is an optional, and it is left out where that is empty.
    package struct Entry: Sendable, Equatable {
        package let key: Term
        package let value: Term
        package let isOptional: Bool
    }

    package indirect enum Form: Sendable {
        case null
        case bool(Bool)
        case int(Int)
        /// Finite.
        case double(Double)
        case text(String)
        case name(String)
        /// `a.b`; `a.?b`, which gives an optional.
        case member(Term, String, isOptional: Bool)
        /// `a[b]`; `a[?b]`, which gives an optional.
        case index(Term, Term, isOptional: Bool)
        /// `f(a)`, `a.f(b)`.
        case call(String, on: Term?, [Term])
        case list([Element])
        case map([Entry])
        case unary(Unary, Term)
        case binary(Binary, Term, Term)
        /// `a && b && …`.
        case all([Term])
        /// `a || b || …`.
        case any([Term])
        /// `a ? b : c`.
        case conditional(Term, Term, Term)
    }

    package let form: Form
    package let position: Position
    /// How many terms stand inside each other, this one included.
    package let depth: Int

    /// The deepest nesting: more than people write, and little enough for recursive code.
    package static let deepest = 64

    init(_ form: Form, at position: Position) {
        self.form = form
        self.position = position
        depth = 1 + form.parts.reduce(0) { max($0, $1.depth) }
    }
}

extension Term.Form {
    /// The terms inside.
    package var parts: [Term] {
        switch self {
        case .null, .bool, .int, .double, .text, .name: []
        case .member(let term, _, _), .unary(_, let term): [term]
        case .index(let left, let right, _), .binary(_, let left, let right): [left, right]
        case .call(_, let receiver, let arguments): (receiver.map { [$0] } ?? []) + arguments
        case .list(let elements): elements.map(\.value)
        case .map(let entries): entries.flatMap { [$0.key, $0.value] }
        case .all(let terms), .any(let terms): terms
        case .conditional(let condition, let one, let other): [condition, one, other]
        }
    }
}

extension Term: Equatable {
    package static func == (left: Term, right: Term) -> Bool {
        switch (left.form, right.form) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        // By their bytes: for Swift a letter with an accent equals a letter and an accent.
        case (.text(let a), .text(let b)), (.name(let a), .name(let b)): a.utf8.elementsEqual(b.utf8)
        case (.member(let a, let name, let isOptional), .member(let b, let other, let isOther)):
            name == other && isOptional == isOther && a == b
        case (.index(let a, let key, let isOptional), .index(let b, let other, let isOther)):
            isOptional == isOther && key == other && a == b
        case (.call(let name, let a, let arguments), .call(let other, let b, let others)):
            name == other && a == b && arguments == others
        case (.list(let a), .list(let b)): a == b
        case (.map(let a), .map(let b)): a == b
        case (.unary(let sign, let a), .unary(let other, let b)): sign == other && a == b
        case (.binary(let sign, let a, let b), .binary(let other, let c, let d)):
            sign == other && a == c && b == d
        case (.all(let a), .all(let b)), (.any(let a), .any(let b)): a == b
        case (.conditional(let a, let b, let c), .conditional(let d, let e, let f)):
            a == d && b == e && c == f
        default: false
        }
    }
}

/// What is wrong with the text of an expression, and where. The message is a sentence that says what to write.
package struct TermError: Error, Equatable, Sendable, CustomStringConvertible {
    package let message: String
    package let position: Term.Position

    package init(_ message: String, at position: Term.Position) {
        self.message = message
        self.position = position
    }

    package var description: String { "\(position): \(message)" }
}
