extension Term {
    /// In bytes. What is longer is no expression that somebody wrote.
    package static let longestText = 1 << 16

    /// Reads the text of an expression. `start` is where it begins, for the places in messages.
    package init(
        parsing text: String, from start: Position = Position(line: 1, column: 1)
    ) throws(TermError) {
        guard text.utf8.count <= Self.longestText else {
            throw TermError("the expression has more than \(Self.longestText) bytes; shorten it.", at: start)
        }
        var parser = try Parser(text, from: start)
        self = try parser.whole()
    }
}

/// Reads terms from tokens, each operator with the precedence that CEL gives it.
struct Parser {
    private var lexer: Lexer
    var token: Lexer.Token
    /// How many brackets, signs and conditionals are open.
    private var depth = 0

    init(_ text: String, from start: Term.Position) throws(TermError) {
        lexer = Lexer(text, from: start)
        token = try lexer.next()
    }

    mutating func whole() throws(TermError) -> Term {
        if token.kind == .end {
            throw TermError(
                "the expression is empty; write one, such as state.count + 1.", at: token.position)
        }
        let term = try expression()
        guard token.kind == .end else { throw unexpected("an operator or the end") }
        return term
    }

    // MARK: Tokens

    mutating func advance() throws(TermError) { token = try lexer.next() }

    func isNext(_ symbol: String) -> Bool { token.kind == .symbol(symbol) }

    /// Takes a symbol if it is next.
    mutating func take(_ symbol: String) throws(TermError) -> Bool {
        guard isNext(symbol) else { return false }
        try advance()
        return true
    }

    mutating func expect(_ symbol: String, _ wanted: String) throws(TermError) {
        guard try take(symbol) else { throw unexpected(wanted) }
    }

    func unexpected(_ wanted: String) -> TermError {
        let hint: String
        switch token.kind {
        case .symbol("?"), .name("if"): hint = "; a conditional is written a ? b : c"
        case .symbol("*") where wanted.hasPrefix("a name behind"): hint = "; all elements are a.map(x, x.b)"
        case .name("and"): hint = "; write && for `and`"
        case .name("or"): hint = "; write || for `or`"
        case .name("not"): hint = "; write ! for `not`"
        // `list.0` goes on as a number begins.
        case .int, .double:
            return TermError(
                "an operator is missing before \(token.phrase); an element is written in brackets, such as list[0].",
                at: token.position)
        case .name("is"): hint = "; write == to compare"
        case .end where wanted.hasPrefix("a comma"):
            hint = "; between { } or [ ] of YAML a text with commas stands in quotes"
        default: hint = ""
        }
        return TermError("\(wanted) is missing before \(token.phrase)\(hint).", at: token.position)
    }

    // MARK: Operators

    /// A whole expression, which a conditional may be.
    mutating func expression() throws(TermError) -> Term {
        let start = token.position
        depth += 1
        defer { depth -= 1 }
        if depth > Term.deepest { throw Self.tooDeep(at: start) }
        let condition = try operation()
        guard isNext("?") else { return condition }
        try advance()
        let one = try operation()
        try expect(":", "the : of a conditional (a ? b : c)")
        return try term(.conditional(condition, one, expression()), at: start)
    }

    /// An operator whose right operand is not complete yet.
    private struct Pending {
        let operation: Pending.Operation
        let position: Term.Position

        enum Operation: Equatable {
            case any, all
            case binary(Term.Binary)
        }

        /// How strongly it binds.
        var strength: Int {
            switch operation {
            case .any: 1
            case .all: 2
            case .binary(let operation): operation.strength
            }
        }
    }

    private var nextOperator: Pending? {
        switch token.kind {
        case .symbol("||"): return Pending(operation: .any, position: token.position)
        case .symbol("&&"): return Pending(operation: .all, position: token.position)
        case .symbol(let text), .name(let text):
            guard let operation = Term.Binary(rawValue: text) else { return nil }
            return Pending(operation: .binary(operation), position: token.position)
        default: return nil
        }
    }

    /// Operands and the operators between them. Operators wait until a weaker one or the end shows what is theirs, so
    /// that no function calls itself for each of their precedences.
    private mutating func operation() throws(TermError) -> Term {
        var terms = [try signed()]
        var pending: [Pending] = []
        while let next = nextOperator {
            while let last = pending.last,
                last.strength > next.strength || last.strength == next.strength && last.strength > 2
            {
                try combine(&terms, &pending)
            }
            pending.append(next)
            try advance()
            terms.append(try signed())
        }
        while !pending.isEmpty { try combine(&terms, &pending) }
        return terms[0]
    }

    /// Puts the last operator and its operands together; of `a && b && c` all operators.
    private func combine(_ terms: inout [Term], _ pending: inout [Pending]) throws(TermError) {
        let last = pending.removeLast()
        var count = 2
        if case .binary = last.operation {
        } else {
            while pending.last?.operation == last.operation {
                pending.removeLast()
                count += 1
            }
        }
        let operands = Array(terms.suffix(count))
        terms.removeLast(count)
        let form: Term.Form =
            switch last.operation {
            case .any: .any(operands)
            case .all: .all(operands)
            case .binary(let operation): .binary(operation, operands[0], operands[1])
            }
        terms.append(try term(form, at: last.position))
    }

    /// A value behind its signs. A minus before a number is a part of it.
    private mutating func signed() throws(TermError) -> Term {
        var signs: [(sign: Term.Unary, position: Term.Position)] = []
        while case .symbol(let text) = token.kind, let sign = Term.Unary(rawValue: text) {
            signs.append((sign, token.position))
            try advance()
        }
        var value: Term?
        if let last = signs.last, last.sign == .negative {
            let form: Term.Form? =
                switch token.kind {
                case .int(let number): .int(-number)
                case .leastInt: .int(.min)
                case .double(let number): .double(-number)
                default: nil
                }
            if let form {
                signs.removeLast()
                try advance()
                value = try term(form, at: last.position)
            }
        }
        var here = if let value { value } else { try primary() }
        here = try postfix(here)
        for sign in signs.reversed() { here = try term(.unary(sign.sign, here), at: sign.position) }
        return here
    }

    // MARK: Depth

    func term(_ form: Term.Form, at place: Term.Position) throws(TermError) -> Term {
        let term = Term(form, at: place)
        if term.depth > Term.deepest { throw Self.tooDeep(at: place) }
        return term
    }

    private static func tooDeep(at place: Term.Position) -> TermError {
        TermError(
            "the expression nests more than \(Term.deepest) levels deep; divide it into computed values.",
            at: place)
    }
}
