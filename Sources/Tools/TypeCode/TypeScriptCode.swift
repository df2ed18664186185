import BusJSON

/// A state type as TypeScript, for the client library: types, and functions that make requests. It imports nothing, because what
/// has the form of a type is one.
struct TypeScriptCode {
    private let type: TypeDescription
    /// The state's name, and those of the union of actions, the request, the type as a whole and the object with the functions.
    private let state, action, request, whole, functions: String
    /// The names of the payloads, by action.
    private let payloads: [String]

    static func text(of type: TypeDescription) -> String { TypeScriptCode(type).file() }

    private init(_ type: TypeDescription) {
        self.type = type
        let stem = Identifier.pascal(type.name)
        var table = NameTable(reserved: Self.keywords)
        state = table.claim(stem)
        action = table.claim(stem + "Action")
        request = table.claim(stem + "Request")
        whole = table.claim(stem + "Type")
        functions = table.claim(Identifier.camel(type.name))
        payloads = type.actions.map { table.claim(stem + Identifier.pascal($0.name)) }
    }

    private func file() -> String {
        var out = CodeText(indentedBy: "  ")
        out.lines(TypeLanguage.typescript.origin(type.name).map { "// " + $0 })
        out.line()
        out.lines(Self.comment(type.summary))
        out.block("export interface \(state) {") { out in
            write(type.members + type.computed, isRead: true, &out)
        }
        for (action, name) in zip(type.actions, payloads) where !action.payload.isEmpty {
            out.line()
            out.line("/** What \(action.name) takes. */")
            out.block("export interface \(name) {") { out in
                write(action.payload, isRead: false, &out)
            }
        }
        out.line()
        writeActions(&out)
        out.line()
        writeFunctions(&out)
        return out.text
    }

    private func writeActions(_ out: inout CodeText) {
        out.line("/** An action of \(type.name) with its payload. */")
        if type.actions.isEmpty {
            out.line("export type \(action) = never;")
        } else {
            out.block("export type \(action) =", nil) { out in
                for (index, each) in type.actions.enumerated() {
                    let end = index + 1 < type.actions.count ? "" : ";"
                    out.line(
                        "| { readonly action: \(Self.quoted(each.name)); "
                            + "readonly payload: \(payloadType(index)) }\(end)")
                }
            }
        }
        out.line()
        out.line("/** A request to the bus, for `bus.dispatch`, or as a line of JSON. */")
        out.line(
            "export type \(request) = { readonly op: \"dispatch\" } "
                + "& ({ readonly store: string } | { readonly type: string }) & \(action);")
        out.line()
        out.line("/** The type as a whole, for `bus.store<\(whole)>`. */")
        out.block("export interface \(whole) {") { out in
            out.line("readonly type: \(Self.quoted(type.name));")
            out.line("readonly state: \(state);")
            out.line("readonly action: \(action);")
        }
    }

    private func payloadType(_ index: Int) -> String {
        type.actions[index].payload.isEmpty ? "{ readonly [name: string]: never }" : payloads[index]
    }

    private func writeFunctions(_ out: inout CodeText) {
        out.line(
            "/** Requests for the store \(type.name)/NAME of a given NAME, or for all stores of the type: null. */"
        )
        out.block("export const \(functions) = {", "};") { out in
            for (index, action) in type.actions.enumerated() {
                out.lines(Self.comment(action.summary))
                let hasPayload = !action.payload.isEmpty
                let isNeeded = action.payload.contains { !$0.isOptional }
                let parameter = hasPayload ? ", payload: \(payloadType(index))\(isNeeded ? "" : " = {}")" : ""
                out.block(
                    "\(Self.key(action.name))(store: string | null\(parameter)): \(request) {", "},"
                ) { out in
                    out.line(
                        "const target = store === null "
                            + "? { type: \(Self.quoted(type.name)) } "
                            + ": { store: \(Self.quoted(type.name + "/")) + store };")
                    out.line(
                        "return { op: \"dispatch\", ...target, action: \(Self.quoted(action.name)), "
                            + "payload\(hasPayload ? "" : ": {}") };")
                }
            }
        }
    }

    // MARK: Types

    private func write(_ members: [Member], isRead: Bool, _ out: inout CodeText) {
        for member in members {
            let isOptional = isRead ? member.mayBeAbsent : member.isOptional
            let fallback = isRead ? nil : member.fallback.map { "Default: \($0.encoded)" }
            out.lines(Self.comment(member.schema.summary, member.schema.remarks, fallback))
            let head = "readonly \(Self.key(member.name))\(isOptional ? "?" : ""): "
            writeType(of: member.schema, after: head, before: ";", &out)
        }
    }

    /// A type as the end of a line; one with members takes several.
    private func writeType(
        of schema: Schema, after head: String, before tail: String, _ out: inout CodeText
    ) {
        let end = (schema.isNullable ? " | null" : "") + tail
        switch schema.shape {
        case .structure(let members):
            out.block(head + "{", "}" + end) { out in write(members, isRead: true, &out) }
        case .array(let element):
            let isCompound = Self.isCompound(element)
            writeType(
                of: element, after: head + (isCompound ? "readonly (" : "readonly "),
                before: (isCompound ? ")[]" : "[]") + end, &out)
        case .map(let value):
            writeType(of: value, after: head + "{ readonly [name: string]: ", before: " }" + end, &out)
        case .any where schema.types.count > 1:
            out.line(head + schema.types.map { Self.names[$0] ?? "unknown" }.joined(separator: " | ") + end)
        case .any: out.line(head + "unknown" + tail)
        case .boolean: out.line(head + "boolean" + end)
        case .integer, .number: out.line(head + "number" + end)
        case .string: out.line(head + "string" + end)
        case .choice(let values):
            guard let literals = Self.literals(values) else { return out.line(head + "unknown" + tail) }
            out.line(head + literals.joined(separator: " | ") + end)
        }
    }

    /// The types of a union.
    private static let names = [
        "boolean": "boolean", "integer": "number", "number": "number", "string": "string",
        "array": "readonly unknown[]", "object": "{ readonly [name: string]: unknown }",
    ]

    /// Whether a type needs brackets where it is a part of another.
    private static func isCompound(_ schema: Schema) -> Bool {
        switch schema.shape {
        case .any: schema.types.count > 1
        case .choice, .array: true
        default: schema.isNullable
        }
    }

    /// Values as types; nil when one is an array or an object.
    private static func literals(_ values: [JSON]) -> [String]? {
        var literals: [String] = []
        for value in values {
            switch value {
            case .string(let text): literals.append(quoted(text))
            case .int, .double, .bool: literals.append(value.encoded)
            default: return nil
            }
        }
        return literals
    }

    // MARK: Text

    private static func key(_ name: String) -> String {
        Identifier.isName(name) ? name : quoted(name)
    }

    private static func quoted(_ text: String) -> String {
        SourceText.quoted(text) { "\\u{\(SourceText.hexadecimal($0))}" }
    }

    private static func comment(
        _ summary: String?, _ remarks: [String] = [], _ more: String? = nil
    ) -> [String] {
        // Neither the end of the comment nor an order to the compiler.
        let text = (SourceText.lines(of: summary) + remarks + SourceText.lines(of: more)).map {
            $0.replacing("*/", with: "*\\/").replacing("@ts-", with: "@ ts-")
        }
        if text.count < 2 { return text.map { "/** \($0) */" } }
        return ["/**"] + text.map { " * " + $0 } + [" */"]
    }

    /// Words that can't name what a module declares.
    private static let keywords: Set<String> = [
        "arguments", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger",
        "declare", "default", "delete", "do", "else", "enum", "eval", "export", "exports", "extends", "false",
        "finally", "for", "function", "if", "implements", "import", "in", "instanceof", "interface", "let",
        "module", "new", "null", "package", "private", "protected", "public", "require", "return", "static",
        "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined", "var", "void",
        "while", "with", "yield",
    ]
}
