/// Literals, names, brackets, and what follows them.
extension Parser {
    /// Words that are no names, so that CEL can give them a meaning.
    private static let reserved: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
        "package", "namespace", "return", "var", "void", "while",
    ]

    mutating func primary() throws(TermError) -> Term {
        let start = token.position
        switch token.kind {
        case .int(let number): return try simple(.int(number))
        case .leastInt:
            throw TermError(
                "an integer has at most 64 bits; write a smaller one, or a number with a point.", at: start)
        case .double(let number): return try simple(.double(number))
        case .text(let text): return try simple(.text(text))
        case .name(let name): return try self.name(name)
        case .symbol("("):
            try advance()
            let term = try expression()
            try expect(")", "a closing )")
            return term
        case .symbol("["): return try list()
        case .symbol("{"): return try map()
        case .symbol("."):
            throw TermError(
                "a name stands before the point; write state.NAME, or state.?NAME for one that may be absent.",
                at: start)
        case .quotedName:
            throw TermError(
                "a name in backticks stands behind a point; write state.`NAME`.", at: start)
        case .symbol, .end: throw unexpected("a value")
        }
    }

    private mutating func simple(_ form: Term.Form) throws(TermError) -> Term {
        let term = try term(form, at: token.position)
        try advance()
        return term
    }

    private mutating func name(_ name: String) throws(TermError) -> Term {
        let start = token.position
        switch name {
        case "true": return try simple(.bool(true))
        case "false": return try simple(.bool(false))
        case "null": return try simple(.null)
        case "in": throw unexpected("a value")
        default: break
        }
        guard !Self.reserved.contains(name) else {
            throw TermError(
                "`\(name)` is a reserved word and no name; write state.\(name) for a member of that name.",
                at: start)
        }
        try advance()
        guard isNext("(") else { return try term(.name(name), at: start) }
        return try term(.call(name, on: nil, try arguments()), at: start)
    }

    /// What follows a value: points and brackets.
    mutating func postfix(_ first: Term) throws(TermError) -> Term {
        var here = first
        while true {
            let place = token.position
            if try take(".") {
                here = try member(of: here, at: place)
            } else if try take("[") {
                let isOptional = try take("?")
                let key = try expression()
                try expect("]", "a closing ]")
                here = try term(.index(here, key, isOptional: isOptional), at: place)
            } else if isNext("{"), case .name(let name) = here.form {
                throw TermError(
                    "there are no messages such as \(name){…} here; write a map, {\"key\": value}.", at: place
                )
            } else {
                return here
            }
        }
    }

    private mutating func member(of owner: Term, at point: Term.Position) throws(TermError) -> Term {
        let isOptional = try take("?")
        let place = token.position
        switch token.kind {
        case .quotedName(let name):
            try advance()
            return try term(.member(owner, name, isOptional: isOptional), at: place)
        case .name(let name) where !["true", "false", "null", "in"].contains(name):
            try advance()
            guard isNext("("), !isOptional else {
                return try term(.member(owner, name, isOptional: isOptional), at: place)
            }
            return try term(.call(name, on: owner, try arguments()), at: place)
        case .name(let name):
            throw TermError(
                "`\(name)` can't follow a point as it is; write [\"\(name)\"].", at: place)
        default: throw unexpected("a name behind the point")
        }
    }

    private mutating func arguments() throws(TermError) -> [Term] {
        try expect("(", "an opening (")
        var terms: [Term] = []
        if try take(")") { return terms }
        repeat { terms.append(try expression()) } while try take(",")
        try expect(")", "a comma or a closing )")
        return terms
    }

    private mutating func list() throws(TermError) -> Term {
        let start = token.position
        try advance()
        var elements: [Term.Element] = []
        while !isNext("]") {
            let isOptional = try take("?")
            elements.append(.init(value: try expression(), isOptional: isOptional))
            guard try take(",") else { break }
        }
        try expect("]", "a comma or a closing ]")
        return try term(.list(elements), at: start)
    }

    private mutating func map() throws(TermError) -> Term {
        let start = token.position
        try advance()
        var entries: [Term.Entry] = []
        while !isNext("}") {
            let isOptional = try take("?")
            let key = try expression()
            try expect(":", "a : behind the key")
            entries.append(.init(key: key, value: try expression(), isOptional: isOptional))
            guard try take(",") else { break }
        }
        try expect("}", "a comma or a closing }")
        return try term(.map(entries), at: start)
    }
}
