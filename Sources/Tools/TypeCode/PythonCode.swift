import BusJSON

/// A state type as Python, 3.11 or later, for the client library: typed dictionaries, and functions that make actions.
struct PythonCode {
    private let type: TypeDescription
    private var names = NameTable(reserved: PythonCode.reserved.union(["store"]))
    /// Dictionaries with members of their own, and the names under which they are written.
    private var nested: [(members: [Member], name: String)] = []
    private var out = CodeText(indentedBy: "    ")

    static func text(of type: TypeDescription) -> String {
        var code = PythonCode(type: type)
        code.writeFile()
        return code.out.text
    }

    private mutating func writeFile() {
        let stem = Identifier.pascal(type.name)
        let state = names.claim(stem)
        let union = names.claim(stem + "Action")
        let payloads = type.actions.map { names.claim(Identifier.pascal($0.name)) }
        let actions = type.actions.map { names.claim(Identifier.pascal($0.name) + "Action") }
        let functions = names.claim(type.actions.map(\.name), Identifier.snake)

        out.lines(TypeLanguage.python.origin(type.name).map { "# " + $0 })
        out.line()
        out.line("from typing import Any, Literal, NotRequired, TypedDict")
        out.line()
        out.line("from fluxbus import \(type.actions.isEmpty ? "" : "Step, ")Target")
        write(
            PrintedMember.all(of: type), as: state, summary: SourceText.lines(of: type.summary),
            hint: stem)
        for (index, action) in type.actions.enumerated() {
            let fields = action.payload.map { PrintedMember($0, isRead: false) }
            write(fields, as: payloads[index], summary: ["What \(action.name) takes."], hint: payloads[index])
            out.lines(["", "", "class \(actions[index])(TypedDict):"])
            out.line("    action: Literal[\(Self.quoted(action.name))]")
            out.line("    payload: \(payloads[index])")
        }
        out.lines(["", "", "# An action with its payload."])
        out.line("\(union) = \(actions.isEmpty ? "Any" : actions.joined(separator: " | "))")
        out.lines(["", ""])
        out.block("def store(name: str | None = None) -> Target[\(state)]:", nil) {
            $0.line(
                "\"\"\"The store of that name, or all stores of the type, for `bus.get` and `bus.mirror`.\"\"\""
            )
            let name = Self.quoted(type.name)
            $0.line("return Target(\(name) if name is None else \(name) + \"/\" + name)")
        }
        if type.actions.isEmpty { return }
        out.lines(["", "", "# Stands for what is left out.", "_ABSENT: Any = object()", "", ""])
        out.block("def _step(name: str | None, action: str, payload: dict[str, Any]) -> Step:", nil) {
            $0.line("given = {name: value for name, value in payload.items() if value is not _ABSENT}")
            $0.line("return Step(store(name), action, given)")
        }
        for (index, action) in type.actions.enumerated() {
            writeFunction(functions[index], for: action, hint: payloads[index])
        }
    }

    private mutating func writeFunction(
        _ function: String, for action: TypeDescription.Action, hint: String
    ) {
        var table = NameTable(reserved: Self.reserved.union(["store"]))
        let names = table.claim(action.payload.map(\.name), Identifier.snake)
        var parameters = names.isEmpty ? "" : ", *"
        for (member, name) in zip(action.payload, names) {
            let type = pythonType(of: member.schema, hint + Identifier.pascal(member.name))
            parameters += ", \(name): \(type)\(member.isOptional ? " = _ABSENT" : "")"
        }
        let payload = zip(action.payload, names).map { "\(Self.quoted($0.name)): \($1)" }
        let summary =
            SourceText.lines(of: action.summary)
            + ["For the store of that name, or for all stores of the type: None."]
        out.lines(["", ""])
        out.block("def \(function)(store: str | None, /\(parameters)) -> Step:", nil) { out in
            out.lines(Self.documentation(summary))
            out.line(
                "return _step(store, \(Self.quoted(action.name)), {\(payload.joined(separator: ", "))})")
        }
    }

    // MARK: Dictionaries

    /// A typed dictionary, after those that it needs.
    private mutating func write(_ fields: [PrintedMember], as name: String, summary: [String], hint: String) {
        let types = fields.map { field in
            let type = pythonType(of: field.schema, hint + Identifier.pascal(field.name))
            return field.isOptional ? "NotRequired[\(type)]" : type
        }
        let isClass = fields.allSatisfy { field in
            Identifier.isName(field.name) && !field.name.hasPrefix("__")
                && !Self.reserved.contains(field.name)
        }
        out.lines(["", ""])
        if isClass {
            out.block("class \(name)(TypedDict):", nil) { out in
                out.lines(Self.documentation(summary))
                if !summary.isEmpty && !fields.isEmpty { out.line() }
                for (field, type) in zip(fields, types) {
                    out.lines(field.comment.map { Self.comment + $0 })
                    out.line("\(field.name): \(type)")
                }
                if fields.isEmpty && summary.isEmpty { out.line("pass") }
            }
        } else {
            // Names that no class can have.
            out.lines(summary.map { Self.comment + $0 })
            out.block("\(name) = TypedDict(\(Self.quoted(name)), {", "})") { out in
                for (field, type) in zip(fields, types) {
                    out.lines(field.comment.map { Self.comment + $0 })
                    out.line("\(Self.quoted(field.name)): \(type),")
                }
            }
        }
    }

    /// The types of a union.
    private static let names = [
        "boolean": "bool", "integer": "int", "number": "float", "string": "str", "array": "list[Any]",
        "object": "dict[str, Any]",
    ]

    private mutating func pythonType(of schema: Schema, _ hint: String) -> String {
        let type: String
        switch schema.shape {
        case .any where schema.types.count > 1:
            type = schema.types.map { Self.names[$0] ?? "Any" }.joined(separator: " | ")
        case .any: return "Any"
        case .boolean: type = "bool"
        case .integer: type = "int"
        case .number: type = "float"
        case .string: type = "str"
        case .array(let element): type = "list[\(pythonType(of: element, hint + "Item"))]"
        case .map(let value): type = "dict[str, \(pythonType(of: value, hint + "Value"))]"
        case .choice(let values):
            type = Self.choice(values)
            if type == "Any" { return type }
        case .structure(let members): type = dictionary(of: members, hint)
        }
        return schema.isNullable ? type + " | None" : type
    }

    private mutating func dictionary(of members: [Member], _ hint: String) -> String {
        if let known = nested.first(where: { $0.members == members }) { return known.name }
        let name = names.claim(hint)
        nested.append((members, name))
        write(members.map { PrintedMember($0, isRead: true) }, as: name, summary: [], hint: name)
        return name
    }

    private static func choice(_ values: [JSON]) -> String {
        var literals: [String] = []
        for value in values {
            switch value {
            case .string(let text): literals.append(quoted(text))
            case .int: literals.append(value.encoded)
            case .bool(let flag): literals.append(flag ? "True" : "False")
            case .double: return values.allSatisfy { $0.double != nil } ? "float" : "Any"
            default: return "Any"
            }
        }
        return "Literal[\(literals.joined(separator: ", "))]"
    }

    // MARK: Text

    private static func quoted(_ text: String) -> String {
        SourceText.quoted(text, escape: SourceText.escape)
    }

    /// Begins a comment that no text behind it can turn into one for a type checker, such as `# type: ignore`.
    private static let comment = "#: "

    /// A docstring, in which nothing ends it and nothing is an escape.
    private static func documentation(_ text: [String]) -> [String] {
        let lines = text.map { $0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") }
        guard let first = lines.first else { return [] }
        if lines.count == 1 { return ["\"\"\"\(first)\"\"\""] }
        return ["\"\"\"\(first)", ""] + lines.dropFirst() + ["\"\"\""]
    }

    /// Keywords, and the names that the printed code itself uses.
    private static let reserved: Set<String> = [
        "Any", "False", "Literal", "None", "NotRequired", "Step", "Target", "True", "TypedDict", "and", "as",
        "assert", "async",
        "await", "bool", "break", "class", "continue", "def", "del", "dict", "elif", "else", "except",
        "finally", "float", "for", "from", "global", "if", "import", "in", "int", "is", "lambda", "list",
        "nonlocal", "not", "object", "or", "pass", "raise", "return", "str", "try", "while", "with", "yield",
    ]
}
