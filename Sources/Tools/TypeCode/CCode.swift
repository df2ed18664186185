import BusJSON

/// A state type as a header of C11 on `fluxbus.h`: structs for the state and the payloads, functions that read and write them, and
/// one for each action that dispatches it.
///
/// Strings and values in a struct are lent by the JSON that it was read from. What C has no type for, such as a list, stays JSON.
struct CCode {
    private let type: TypeDescription
    private let stem: String
    /// Tags, functions and the names of helpers: one scope, so that C++ takes it, too.
    private var names = NameTable(reserved: CCode.keywords)
    /// The structs of nested objects, each after those that it needs.
    private var nested: [(members: [Member], name: String)] = []
    private var out = CodeText(indentedBy: "    ")

    static func text(of type: TypeDescription) -> String {
        var code = CCode(type)
        code.writeFile()
        return code.out.text
    }

    private init(_ type: TypeDescription) {
        self.type = type
        stem = names.claim(Identifier.snake(type.name))
    }

    private mutating func writeFile() {
        let send = names.claim(stem + "_send")
        for helper in ["_decode", "_encode"] { _ = names.claim(stem + helper) }
        var plain = NameTable()
        let functions = plain.claim(type.actions.map(\.name), Identifier.snake).map {
            names.claim("\(stem)_\($0)")
        }
        // In C++ a struct and a function of one name hide each other.
        let payloads = functions.map { names.claim($0 + "_payload") }
        for payload in payloads {
            for helper in ["_decode", "_encode"] { _ = names.claim(payload + helper) }
        }
        let guardName = "FLUXBUS_TYPE_" + Identifier.snake(type.name).uppercased()
        out.lines(["/*"] + TypeLanguage.c.origin(type.name).map { " * " + $0 } + [" */"])
        out.lines(["#ifndef \(guardName)", "#define \(guardName)", ""])
        out.lines(["#include <fluxbus.h>", "#include <stdio.h>"])
        let state = fields(type.members, isRead: true, hint: stem)
        write(
            state + fields(type.computed, isRead: true, hint: stem, areComputed: true), as: stem,
            comment: SourceText.lines(of: type.summary))
        for (index, action) in type.actions.enumerated() where !action.payload.isEmpty {
            let fields = fields(action.payload, isRead: false, hint: functions[index])
            write(fields, as: payloads[index], comment: ["What \(action.name) takes."])
        }
        writeSending(send)
        for (index, action) in type.actions.enumerated() {
            writeFunction(functions[index], for: action, taking: payloads[index], sending: send)
        }
        out.lines(["", "#endif"])
    }

    private mutating func writeSending(_ name: String) {
        out.lines(["", "/* To the store of that name, or to all stores of the type: NULL. */"])
        out.line(
            "static inline uint64_t \(name)(fluxbus *bus, const char *store, const char *action, fluxbus_json *payload,"
        )
        out.line("    fluxbus_json *options, fluxbus_done *done, void *context)")
        out.block("{") {
            $0.line("char target[256];")
            $0.line(
                "int length = snprintf(target, sizeof target, \"\(type.name)/%s\", store ? store : \"\");")
            $0.line("/* No store has a name that is so long, and the bus refuses an empty one. */")
            $0.line(
                "if (length < 0 || (size_t)length >= sizeof target) target[\(type.name.utf8.count + 1)] = 0;")
            $0.line("if (!store) target[\(type.name.utf8.count)] = 0;")
            $0.line("return fluxbus_dispatch(bus, target, action, payload, options, done, context);")
        }
    }

    private mutating func writeFunction(
        _ name: String, for action: TypeDescription.Action, taking payload: String, sending: String
    ) {
        let isNeeded = action.payload.contains { !$0.isOptional }
        let summary =
            SourceText.lines(of: action.summary) + [
                "For the store of that name, or for all stores of the type: NULL."
            ]
        let parameter = action.payload.isEmpty ? "" : "const struct \(payload) *payload, "
        let value =
            action.payload.isEmpty
            ? "NULL" : isNeeded ? "\(payload)_encode(payload)" : "payload ? \(payload)_encode(payload) : NULL"
        out.lines([""] + Self.comment(summary))
        out.line(
            "static inline uint64_t \(name)(fluxbus *bus, const char *store, \(parameter)fluxbus_json *options,"
        )
        out.line("    fluxbus_done *done, void *context)")
        out.block("{") {
            $0.line(
                "return \(sending)(bus, store, \(Self.quoted(action.name)), \(value), options, done, context);"
            )
        }
    }

    // MARK: Structs

    /// What a member is in C.
    private enum Kind: Equatable {
        /// A number or a truth: its type, what reads it, the kind of JSON, and how it is written in a template.
        case scalar(type: String, reads: String, kind: String, conversion: String, cast: String)
        case text
        /// A value of JSON, perhaps of one kind.
        case value(kind: String?)
        case structure(String)
    }

    private struct Field {
        let wire: String
        let kind: Kind
        let isOptional, isNullable: Bool
        let isComputed: Bool
        let comment: [String]

        /// Whether another member says if it is there; a pointer that is NULL says so itself.
        var hasPresence: Bool { isOptional && (!isPointer || isNullable) && kind != .value(kind: nil) }
        var hasNull: Bool { isNullable && !isPointer }
        var isPointer: Bool {
            switch kind {
            case .text, .value: true
            case .scalar, .structure: false
            }
        }

    }

    private mutating func fields(
        _ members: [Member], isRead: Bool, hint: String, areComputed: Bool = false
    ) -> [Field] {
        members.map { member in
            let printed = PrintedMember(member, isRead: isRead)
            let kind = kind(of: member.schema, "\(hint)_\(Identifier.snake(member.name))")
            var comment = printed.comment
            if case .choice(let values) = member.schema.shape {
                comment.append("One of: \(values.map(\.encoded).joined(separator: ", "))")
            }
            if let name = elementName(of: member.schema) {
                comment.append("Read what is in it by \(name)_decode.")
            }
            return Field(
                wire: member.name, kind: kind, isOptional: printed.isOptional || areComputed,
                isNullable: member.schema.isNullable, isComputed: areComputed, comment: comment)
        }
    }

    private static func scalar(_ shape: Schema.Shape) -> Kind? {
        switch shape {
        case .boolean:
            .scalar(type: "bool", reads: "boolean", kind: "FLUXBUS_BOOLEAN", conversion: "%i", cast: "")
        case .integer:
            .scalar(
                type: "int64_t", reads: "integer", kind: "FLUXBUS_INTEGER", conversion: "%lld",
                cast: "(long long)")
        case .number:
            .scalar(type: "double", reads: "number", kind: "FLUXBUS_NUMBER", conversion: "%g", cast: "")
        default: nil
        }
    }

    private mutating func kind(of schema: Schema, _ hint: String) -> Kind {
        switch schema.shape {
        case .boolean, .integer, .number: return Self.scalar(schema.shape) ?? .value(kind: nil)
        case .string: return .text
        case .any: return .value(kind: nil)
        case .array(let element):
            _ = kind(of: element, hint + "_item")
            return .value(kind: "FLUXBUS_ARRAY")
        case .map(let value):
            _ = kind(of: value, hint + "_value")
            return .value(kind: "FLUXBUS_OBJECT")
        case .choice(let values): return Self.choice(values)
        case .structure(let members): return .structure(structure(members, hint))
        }
    }

    private static func choice(_ values: [JSON]) -> Kind {
        if values.allSatisfy({ $0.string != nil }) { return .text }
        let shapes: [(Schema.Shape, Schema)] = [
            (.boolean, Schema("boolean")), (.integer, Schema("integer")), (.number, Schema("number")),
        ]
        let fitting = shapes.first { shape in values.allSatisfy(shape.1.admits) }
        return fitting.flatMap { scalar($0.0) } ?? .value(kind: nil)
    }

    /// The struct of the objects in a list or under any names.
    private func elementName(of schema: Schema) -> String? {
        switch schema.shape {
        case .array(let element), .map(let element):
            guard case .structure(let members) = element.shape else { return elementName(of: element) }
            return nested.first { $0.members == members }?.name
        default: return nil
        }
    }

    private mutating func structure(_ members: [Member], _ hint: String) -> String {
        if let known = nested.first(where: { $0.members == members }) { return known.name }
        let name = names.claim(hint)
        for helper in ["_decode", "_encode"] { _ = names.claim(name + helper) }
        nested.append((members, name))
        let fields = fields(members, isRead: true, hint: name)
        write(fields, as: name, comment: [])
        return name
    }

    private mutating func write(_ fields: [Field], as name: String, comment: [String]) {
        var scope = NameTable(reserved: Self.keywords)
        let members = scope.claim(fields.map(\.wire), Identifier.snake)
        let presence = members.map { scope.claim("has_" + $0) }
        let nulls = members.map { scope.claim($0 + "_is_null") }
        out.lines([""] + Self.comment(comment))
        out.block("struct \(name) {", "};") { out in
            for (index, field) in fields.enumerated() {
                out.lines(Self.comment(field.comment))
                if field.hasPresence { out.line("bool \(presence[index]);") }
                if field.hasNull { out.line("bool \(nulls[index]);") }
                out.line("\(Self.declaration(field.kind))\(members[index]);")
            }
            if fields.isEmpty { out.line("char unused;") }
        }
        out.lines([
            "", "/* False if the value is no such object. What the struct holds is lent by the value. */",
        ])
        out.block("static inline bool \(name)_decode(const fluxbus_json *value, struct \(name) *into)\n{") {
            out in
            if !fields.isEmpty { out.line("const fluxbus_json *part;") }
            if fields.isEmpty { out.line("into->unused = 0;") }
            out.line("if (fluxbus_json_kind(value) != FLUXBUS_OBJECT) return false;")
            for (index, field) in fields.enumerated() {
                Self.read(field, members[index], presence[index], nulls[index], &out)
            }
            out.line("return true;")
        }
        out.line()
        out.block("static inline fluxbus_json *\(name)_encode(const struct \(name) *from)\n{") { out in
            out.line("fluxbus_json *object = fluxbus_json_format(\"{}\");")
            if !fields.contains(where: { !$0.isComputed }) { out.line("(void)from;") }
            for (index, field) in fields.enumerated() where !field.isComputed {
                let value = Self.written(field, members[index], presence[index], nulls[index])
                out.line("object = fluxbus_json_with(object, \(Self.quoted(field.wire)), \(value));")
            }
            out.line("return object;")
        }
    }

    private static func declaration(_ kind: Kind) -> String {
        switch kind {
        case .scalar(let type, _, _, _, _): type + " "
        case .text: "const char *"
        case .value: "const fluxbus_json *"
        case .structure(let name): "struct \(name) "
        }
    }

    private static func read(
        _ field: Field, _ name: String, _ presence: String, _ null: String, _ out: inout CodeText
    ) {
        let kind: String? =
            switch field.kind {
            case .scalar(_, _, let kind, _, _): kind
            case .text: "FLUXBUS_STRING"
            case .value(let kind): kind
            case .structure: "FLUXBUS_OBJECT"
            }
        out.line("part = fluxbus_json_member(value, \(quoted(field.wire)));")
        if let kind {
            out.line(
                "if (!fluxbus_json_is(part, \(kind), \(field.isOptional), \(field.isNullable))) return false;"
            )
        } else if !field.isOptional {
            out.line("if (!part) return false;")
        }
        if field.hasPresence { out.line("into->\(presence) = part != NULL;") }
        if field.hasNull { out.line("into->\(null) = fluxbus_json_kind(part) == FLUXBUS_NULL;") }
        switch field.kind {
        case .scalar(_, let reads, _, _, _): out.line("into->\(name) = fluxbus_json_\(reads)(part);")
        case .text: out.line("into->\(name) = fluxbus_json_string(part);")
        case .value: out.line("into->\(name) = part;")
        case .structure(let type):
            out.line(
                "if (fluxbus_json_kind(part) == FLUXBUS_OBJECT && !\(type)_decode(part, &into->\(name))) return false;"
            )
        }
    }

    /// The value of a member; NULL where it is left out.
    private static func written(_ field: Field, _ name: String, _ presence: String, _ null: String) -> String
    {
        let value: String
        switch field.kind {
        case .scalar(_, _, _, let conversion, let cast):
            value = "fluxbus_json_format(\"\(conversion)\", \(cast)from->\(name))"
        case .text: value = "fluxbus_json_format(\"%s\", from->\(name))"
        case .value: value = "fluxbus_json_retain(from->\(name))"
        case .structure(let type): value = "\(type)_encode(&from->\(name))"
        }
        let nothing = "fluxbus_json_format(\"null\")"
        var written = value
        if field.hasNull { written = "from->\(null) ? \(nothing) : \(value)" }
        if field.isNullable && field.kind == .text { written = "from->\(name) ? \(value) : \(nothing)" }
        if field.hasPresence {
            return "from->\(presence) ? \(written == value ? value : "(\(written))") : NULL"
        }
        if field.isOptional && field.kind == .text { return "from->\(name) ? \(value) : NULL" }
        return written
    }

    // MARK: Text

    /// What C has no other way to write stands as the bytes of UTF-8; and nothing looks like a trigraph.
    private static func quoted(_ text: String) -> String {
        SourceText.quoted(text) { scalar in
            String(scalar).utf8.map { byte in
                let digits = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }.joined()
        }.replacing("??", with: "?\\?")
    }

    /// A comment that no text in it can end, or continue.
    private static func comment(_ lines: [String]) -> [String] {
        let safe = lines.map {
            $0.replacing("*/", with: "* /").replacing("/*", with: "/ *").replacing("??", with: "? ?")
        }
        if safe.count < 2 { return safe.map { "/* \($0) */" } }
        return ["/*"] + safe.map { " * " + $0 } + [" */"]
    }

    /// Keywords of C and C++, and the names that `stdbool.h` and the printed code itself use.
    private static let keywords: Set<String> = [
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case",
        "catch", "char",
        "class", "compl", "const", "constexpr", "const_cast", "continue", "decltype", "default", "delete",
        "do", "double",
        "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false", "float", "fluxbus",
        "for", "friend",
        "goto", "if", "inline", "int", "linux", "long", "main", "mutable", "namespace", "new", "noexcept",
        "not", "not_eq",
        "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
        "reinterpret_cast", "restrict",
        "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "stderr", "stdin",
        "stdout", "struct",
        "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
        "typeof",
        "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor",
        "xor_eq",
    ]
}
