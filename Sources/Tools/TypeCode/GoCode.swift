import BusJSON

/// A state type as a package of Go, 1.18 or later, for the client library: structs, and methods that dispatch.
struct GoCode {
    private let type: TypeDescription
    /// What the package declares.
    private var parts = NamedParts(NameTable(reserved: ["Mirror", "State", "Type"]))
    private var out = CodeText(indentedBy: "\t")

    static func text(of type: TypeDescription) -> String {
        var code = GoCode(type: type)
        code.writeFile()
        return code.out.text
    }

    private mutating func writeFile() {
        let actions = parts.names.claim(type.actions.map(\.name), Self.exported)
        out.lines(TypeLanguage.go.origin(type.name).map { "// " + $0 })
        out.line()
        out.line("package \(packageName)")
        out.line()
        out.block("import (", ")") {
            $0.line("\"context\"")
            $0.line()
            $0.line("\"fluxbus\"")
        }
        out.lines(["", "// Type is the name of the state type.", "const Type = \(Self.quoted(type.name))"])
        write(
            PrintedMember.all(of: type), as: "State", hint: "",
            ["State is what a store of the type holds."] + SourceText.lines(of: type.summary))
        out.lines(["", "// Mirror follows all stores of the type, by their names."])
        out.block(
            "func Mirror(ctx context.Context, bus *fluxbus.Bus, members ...fluxbus.Member) "
                + "(*fluxbus.MirrorOf[State], error) {"
        ) { $0.line("return fluxbus.TypedMirror[State](ctx, bus, Type, members...)") }
        for (action, name) in zip(type.actions, actions) { write(action, as: name) }
        while let (shape, name) = parts.next() {
            switch shape {
            case .structure(let members):
                write(
                    members.map { PrintedMember($0, isRead: true) }, as: name, hint: name,
                    ["\(name) is a part of the type."])
            case .choice(let values): write(values.compactMap(\.string), as: name)
            default: break
            }
        }
    }

    /// The words of the type's name without anything between them.
    private var packageName: String {
        let name = Identifier.pascal(type.name).lowercased().filter { $0 != "_" }
        return Self.reserved.contains(name) ? name + "type" : name
    }

    private mutating func write(_ action: TypeDescription.Action, as name: String) {
        write(
            action.payload.map { PrintedMember($0, isRead: false) }, as: name, hint: name,
            ["\(name) is the action \(action.name) with what it takes."]
                + SourceText.lines(of: action.summary))
        let parameters = "store string, members ...fluxbus.Member"
        let target = "fluxbus.Target(Type, store), \(Self.quoted(action.name)), payload, members..."
        out.lines([
            "", "// Dispatch commits it on the store of that name, or on all stores of the type: \"\".",
        ])
        out.block(
            "func (payload \(name)) Dispatch(ctx context.Context, bus *fluxbus.Bus, \(parameters)) "
                + "(*fluxbus.Reply, error) {"
        ) { $0.line("return bus.Dispatch(ctx, \(target))") }
        out.lines(["", "// AsStep is it as a part of a batch or a will."])
        out.block("func (payload \(name)) AsStep(\(parameters)) fluxbus.Step {") {
            $0.line("return fluxbus.Act(\(target))")
        }
    }

    // MARK: Structs

    private mutating func write(_ fields: [PrintedMember], as name: String, hint: String, _ summary: [String])
    {
        var table = NameTable(reserved: ["AsStep", "Dispatch", "MarshalJSON", "UnmarshalJSON"])
        let members = table.claim(fields.map(\.name), Self.exported)
        out.line()
        out.lines(summary.map { "// " + $0 })
        let types = zip(fields, members).map { goType(of: $0.schema, hint + $1, isOptional: $0.isOptional) }
        out.block("type \(name) struct {") { out in
            for (index, field) in fields.enumerated() {
                // Neighbours would have to be aligned.
                if index > 0 { out.line() }
                out.lines(field.comment.map { "// " + $0 })
                let tag = field.isTag ? field.name + (field.isOptional ? ",omitempty" : "") : "-"
                out.line("\(members[index]) \(types[index]) `json:\"\(tag)\"`")
            }
        }
        let others = zip(fields, members).filter { !$0.0.isTag }
        if !others.isEmpty { writeCoding(of: name, others.map { ($0.0, $0.1) }) }
    }

    /// Methods for members whose names no tag can hold.
    private mutating func writeCoding(of name: String, _ others: [(field: PrintedMember, member: String)]) {
        out.lines(["", "// MarshalJSON writes all members."])
        out.block("func (value \(name)) MarshalJSON() ([]byte, error) {") { out in
            out.line("type plain \(name)")
            out.line("others := map[string]any{}")
            for (field, member) in others {
                let assignment = "others[\(Self.quoted(field.name))] = value.\(member)"
                if field.isOptional {
                    out.block("if value.\(member) != nil {") { $0.line(assignment) }
                } else {
                    out.line(assignment)
                }
            }
            out.line("return fluxbus.MarshalWith(plain(value), others)")
        }
        out.lines(["", "// UnmarshalJSON reads all members."])
        out.block("func (value *\(name)) UnmarshalJSON(data []byte) error {") { out in
            out.line("type plain \(name)")
            out.line("others := map[string]any{}")
            for (field, member) in others {
                out.line("others[\(Self.quoted(field.name))] = &value.\(member)")
            }
            out.line("return fluxbus.UnmarshalWith(data, (*plain)(value), others)")
        }
    }

    private mutating func write(_ choices: [String], as name: String) {
        out.lines(["", "// \(name) is one of the constants below.", "type \(name) string"])
        for choice in choices {
            let constant = parts.names.claim(name + Identifier.pascal(choice))
            out.lines(["", "// \(constant) is one of them."])
            out.line("const \(constant) \(name) = \(Self.quoted(choice))")
        }
    }

    // MARK: Types

    private mutating func goType(of schema: Schema, _ hint: String, isOptional: Bool = false) -> String {
        let type = plainType(of: schema, hint)
        if type == "any" { return type }
        switch (isOptional, schema.isNullable) {
        case (true, true): return "*fluxbus.Nullable[\(type)]"
        case (true, false), (false, true): return "*" + type
        case (false, false): return type
        }
    }

    private mutating func plainType(of schema: Schema, _ hint: String) -> String {
        switch schema.shape {
        case .any: return "any"
        case .boolean: return "bool"
        case .integer: return "int64"
        case .number: return "float64"
        case .string: return "string"
        case .array(let element): return "fluxbus.List[\(goType(of: element, hint + "Item"))]"
        case .map(let value): return "fluxbus.Map[\(goType(of: value, hint + "Value"))]"
        case .structure: return parts.name(of: schema.shape, hint)
        case .choice(let values):
            if values.strings != nil { return parts.name(of: schema.shape, hint) }
            if values.allSatisfy({ $0.int != nil }) { return "int64" }
            return values.allSatisfy { $0.double != nil } ? "float64" : "any"
        }
    }

    // MARK: Text

    /// Only what begins with a capital is seen outside of a package.
    private static func exported(_ text: String) -> String {
        let name = Identifier.pascal(text)
        return name.unicodeScalars.first.map { "A"..."Z" ~= $0 } == true ? name : "X" + name
    }

    private static func quoted(_ text: String) -> String {
        SourceText.quoted(text, escape: SourceText.escape)
    }

    /// What can't name a package: keywords, and what the printed code and its users import.
    private static let reserved: Set<String> = [
        "break", "case", "chan", "const", "context", "continue", "default", "defer", "else", "fallthrough",
        "fluxbus", "for", "func", "go", "goto", "if", "import", "interface", "internal", "main", "map",
        "package", "range", "return", "select", "struct", "switch", "type", "var", "vendor",
    ]
}

extension PrintedMember {
    /// Whether a struct's tag can hold the name.
    fileprivate var isTag: Bool {
        !name.isEmpty && name != "-"
            && name.unicodeScalars.allSatisfy { scalar in
                "a"..."z" ~= scalar || "A"..."Z" ~= scalar || "0"..."9" ~= scalar
                    || "!#$%&()*+-./:;<=>?@[]^_{|}~ ".unicodeScalars.contains(scalar)
            }
    }
}
