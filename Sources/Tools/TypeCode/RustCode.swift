import BusJSON

/// A state type as a module of Rust, 2021, for the client library: structs and enums, and methods that dispatch.
struct RustCode {
    private let type: TypeDescription
    /// What the module declares.
    private var parts = NamedParts(NameTable(reserved: RustCode.reserved))
    private var out = CodeText(indentedBy: "    ")

    static func text(of type: TypeDescription) -> String {
        var code = RustCode(type: type)
        code.writeFile()
        return code.out.text
    }

    private mutating func writeFile() {
        let state = parts.names.claim(Identifier.pascal(type.name))
        let actions = parts.names.claim(type.actions.map(\.name), Identifier.pascal)
        out.lines(TypeLanguage.rust.origin(type.name).map { "// " + $0 })
        out.line()
        // Names come from the definition, and not everybody uses all of them.
        out.line("#![allow(clippy::all, dead_code, non_camel_case_types, non_snake_case)]")
        write(
            PrintedMember.all(of: type), as: state, hint: "",
            ["What a store of the type holds."] + SourceText.lines(of: type.summary))
        out.line()
        out.block("impl \(state) {") { out in
            out.line("/// The name of the state type.")
            out.line("pub const TYPE: &'static str = \(Self.quoted(type.name));")
            out.line()
            out.line("/// Follows all stores of the type, by their names.")
            out.block(
                "pub fn mirror(bus: &::fluxbus::Bus) -> Result<::fluxbus::MirrorOf<\(state)>, ::fluxbus::Error> {"
            ) {
                $0.line("Ok(::fluxbus::MirrorOf::new(bus.mirror(Self::TYPE)?, Self::TYPE))")
            }
        }
        for (action, name) in zip(type.actions, actions) { write(action, as: name, of: state) }
        while let (shape, name) = parts.next() {
            switch shape {
            case .structure(let members):
                write(
                    members.map { PrintedMember($0, isRead: true) }, as: name, hint: name,
                    ["A part of the type."])
            case .choice(let values): write(values.compactMap(\.string), as: name)
            default: break
            }
        }
    }

    private mutating func write(
        _ action: TypeDescription.Action, as name: String, of state: String
    ) {
        let summary =
            ["The action `\(action.name)` with what it takes."] + SourceText.lines(of: action.summary)
        write(action.payload.map { PrintedMember($0, isRead: false) }, as: name, hint: name, summary)
        let target = "&::fluxbus::target(\(state)::TYPE, store), \(Self.quoted(action.name)), self"
        out.line()
        out.block("impl \(name) {") { out in
            out.line("/// Commits it on the store of that name, or on all stores of the type: `\"\"`.")
            out.block(
                "pub fn dispatch(self, bus: &::fluxbus::Bus, store: &str) "
                    + "-> Result<::fluxbus::Reply, ::fluxbus::Error> {"
            ) { $0.line("bus.ask(&self.request(store))") }
            out.line()
            out.line("/// It as a request, for what else may be said of one.")
            out.block("pub fn request(self, store: &str) -> ::fluxbus::Request {") {
                $0.line("::fluxbus::Request::dispatch(\(target))")
            }
            out.line()
            out.line("/// It as a part of a batch or a will.")
            out.block("pub fn step(self, store: &str) -> ::fluxbus::Step {") {
                $0.line("::fluxbus::Step::dispatch(\(target))")
            }
        }
    }

    // MARK: Structs

    private mutating func write(_ fields: [PrintedMember], as name: String, hint: String, _ summary: [String])
    {
        var table = NameTable(reserved: Self.reserved)
        let members = table.claim(fields.map(\.name), Identifier.snake)
        let types = fields.map { field in
            let type = rustType(of: field.schema, hint + Identifier.pascal(field.name))
            return field.isOptional ? "Option<\(type)>" : type
        }
        out.line()
        out.lines(Self.documentation(summary))
        out.line("#[derive(Clone, Debug, PartialEq)]")
        out.block("pub struct \(name) {") { out in
            for (index, field) in fields.enumerated() {
                out.lines(Self.documentation(field.comment))
                out.line("pub \(members[index]): \(types[index]),")
            }
        }
        let all = zip(fields, zip(members, types)).map { (field: $0, member: $1.0, type: $1.1) }
        // States come from the bus.
        if !hint.isEmpty { writeInitializer(of: name, all) }
        out.line()
        out.block("impl ::fluxbus::FromValue for \(name) {") { out in
            let value = fields.isEmpty ? "_value" : "value"
            out.block("fn from_value(\(value): &::fluxbus::Value) -> Result<Self, ::fluxbus::Error> {") {
                $0.block("Ok(Self {", "})") { out in
                    for (field, member, _) in all {
                        let read = field.isOptional ? "optional" : "member"
                        out.line("\(member): ::fluxbus::\(read)(value, \(Self.quoted(field.name)))?,")
                    }
                }
            }
        }
        writeCoding(of: name, all.map { ($0.field, $0.member) })
    }

    private mutating func writeInitializer(
        of name: String, _ all: [(field: PrintedMember, member: String, type: String)]
    ) {
        out.line()
        out.block("impl \(name) {") { out in
            out.line("/// One with what has to be there.")
            let needed = all.filter { !$0.field.isOptional }
            let parameters = needed.map { "\($0.member): \($0.type)" }.joined(separator: ", ")
            out.block("pub fn new(\(parameters)) -> Self {") { out in
                let values = all.map { $0.field.isOptional ? "\($0.member): None" : $0.member }
                out.line("Self { \(values.joined(separator: ", ")) }")
            }
        }
    }

    private mutating func writeCoding(of name: String, _ fields: [(field: PrintedMember, member: String)]) {
        out.line()
        out.block("impl From<\(name)> for ::fluxbus::Value {") { out in
            let value = fields.isEmpty ? "_value" : "value"
            let isFilled = fields.isEmpty ? "" : "mut "
            out.block("fn from(\(value): \(name)) -> ::fluxbus::Value {") { out in
                out.line("let \(isFilled)members = ::fluxbus::Object::new();")
                for (field, member) in fields {
                    let name = Self.quoted(field.name)
                    if field.isOptional {
                        out.block("if let Some(member) = value.\(member) {") {
                            $0.line("::fluxbus::put(&mut members, \(name), member);")
                        }
                    } else {
                        out.line("::fluxbus::put(&mut members, \(name), value.\(member));")
                    }
                }
                out.line("::fluxbus::Value::Object(members)")
            }
        }
        out.line()
        out.line("impl ::fluxbus::NotValue for \(name) {}")
    }

    private mutating func write(_ choices: [String], as name: String) {
        var table = NameTable(reserved: Self.reserved)
        let cases = table.claim(choices, Identifier.pascal)
        out.lines(["", "/// One of these.", "#[derive(Clone, Copy, Debug, PartialEq, Eq)]"])
        out.block("pub enum \(name) {") { out in
            for (each, choice) in zip(cases, choices) {
                out.line("/// On the wire `\(SourceText.lines(of: choice).joined())`.")
                out.line("\(each),")
            }
        }
        out.line()
        out.block("impl ::fluxbus::FromValue for \(name) {") { out in
            out.block("fn from_value(value: &::fluxbus::Value) -> Result<Self, ::fluxbus::Error> {") {
                $0.block("match value.as_str() {") { out in
                    for (each, choice) in zip(cases, choices) {
                        out.line("Some(\(Self.quoted(choice))) => Ok(Self::\(each)),")
                    }
                    out.line("_ => Err(::fluxbus::mismatch(\(Self.quoted(name)), value)),")
                }
            }
        }
        out.line()
        out.block("impl From<\(name)> for ::fluxbus::Value {") { out in
            out.block("fn from(value: \(name)) -> ::fluxbus::Value {") {
                $0.block("::fluxbus::Value::from(match value {", "})") { out in
                    for (each, choice) in zip(cases, choices) {
                        out.line("\(name)::\(each) => \(Self.quoted(choice)),")
                    }
                }
            }
        }
        out.line()
        out.line("impl ::fluxbus::NotValue for \(name) {}")
    }

    // MARK: Types

    private mutating func rustType(of schema: Schema, _ hint: String) -> String {
        let type = plainType(of: schema, hint)
        return schema.isNullable && type != Self.any ? "Option<\(type)>" : type
    }

    private static let any = "::fluxbus::Value"

    private mutating func plainType(of schema: Schema, _ hint: String) -> String {
        switch schema.shape {
        case .any: return Self.any
        case .boolean: return "bool"
        case .integer: return "i64"
        case .number: return "f64"
        case .string: return "String"
        case .array(let element): return "Vec<\(rustType(of: element, hint + "Item"))>"
        case .map(let value):
            return "::std::collections::BTreeMap<String, \(rustType(of: value, hint + "Value"))>"
        case .structure: return parts.name(of: schema.shape, hint)
        case .choice(let values):
            if values.strings != nil { return parts.name(of: schema.shape, hint) }
            if values.allSatisfy({ $0.int != nil }) { return "i64" }
            return values.allSatisfy { $0.double != nil } ? "f64" : Self.any
        }
    }

    // MARK: Text

    private static func quoted(_ text: String) -> String {
        SourceText.quoted(text) { "\\u{\(SourceText.hexadecimal($0))}" }
    }

    /// Comments that hold no code for anybody to run.
    private static func documentation(_ text: [String]) -> [String] {
        text.map { "/// " + $0.drop { $0 == " " }.replacing("`" + "``", with: "'''") }
    }

    /// Keywords, and the names that the printed code itself uses.
    private static let reserved: Set<String> = [
        "Clone", "Copy", "Debug", "Default", "Eq", "Err", "From", "Into", "None", "Ok", "Option", "PartialEq",
        "Result", "Self", "Some", "String", "Vec", "abstract", "as", "async", "await", "become", "box",
        "break",
        "const", "continue", "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for",
        "if",
        "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
        "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe",
        "unsized", "use", "virtual", "where", "while", "yield",
    ]
}
