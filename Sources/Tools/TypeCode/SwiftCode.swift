import BusJSON

/// A state type as Swift: a `SharedState` for the client library, whose rules stay on the bus.
///
/// Its coding is written out, because the wire has more forms than synthesised coding: names that are none in Swift, null
/// beside absence, computed values that are only read. Nothing is isolated to an actor, whatever a module does by default.
struct SwiftCode {
    let type: TypeDescription
    /// The name of the state.
    let name: String
    /// The names inside the state: its nested types, then its members.
    private var scope: NameTable
    /// The types that were given a name, in the order in which they are written.
    private(set) var nested: [(shape: Schema.Shape, name: String)] = []
    /// The names of the members of a state, computed ones last; of the actions.
    let memberNames: [String]
    let actionNames: [String]

    static func text(of type: TypeDescription) -> String {
        var code = SwiftCode(type)
        return code.file()
    }

    init(_ type: TypeDescription) {
        self.type = type
        let wanted = Identifier.pascal(type.name)
        name = Self.libraryNames.contains(wanted) ? wanted + "State" : wanted
        var scope = NameTable(reserved: Self.libraryNames.union([name]))
        memberNames = scope.claim((type.members + type.computed).map(\.name), Self.member)
        var cases = NameTable(reserved: Self.libraryNames)
        actionNames = cases.claim(type.actions.map(\.name), Self.member)
        self.scope = scope
        // Every type has its name before anything is written.
        for member in type.members { add(member.schema, Identifier.pascal(member.name)) }
        for action in type.actions {
            for member in action.payload {
                add(member.schema, Identifier.pascal(action.name) + Identifier.pascal(member.name))
            }
        }
    }

    private mutating func add(_ schema: Schema, _ hint: String) {
        switch schema.shape {
        case .any, .boolean, .integer, .number, .string: break
        case .array(let element): add(element, hint + "Item")
        case .map(let value): add(value, hint + "Value")
        case .choice(let values):
            if values.strings != nil { _ = declare(schema.shape, hint) }
        case .structure(let members):
            guard declare(schema.shape, hint) else { return }
            for member in members { add(member.schema, hint + Identifier.pascal(member.name)) }
        }
    }

    /// Gives a shape a name; false when an equal one has one.
    private mutating func declare(_ shape: Schema.Shape, _ hint: String) -> Bool {
        if nested.contains(where: { $0.shape == shape }) { return false }
        nested.append((shape, scope.claim(hint)))
        return true
    }

    // MARK: File

    private mutating func file() -> String {
        var out = CodeText(indentedBy: "    ")
        out.lines(TypeLanguage.swift.origin(type.name).map { "// " + $0 })
        out.line()
        out.line("import FluxBus")
        out.line()
        out.lines(Self.comment(type.summary))
        out.block("nonisolated public struct \(name): SharedState, Equatable {") { out in
            writeMembers(&out)
            out.line("public static let typeName = \(Self.quoted(type.name))")
            out.line()
            out.line("public init() {}")
            out.line()
            writeActions(&out)
            for (shape, name) in nested { writeNested(shape, name, &out) }
            out.line()
            writeName(&out)
        }
        out.line()
        writeStateCoding(&out)
        out.line()
        writeActionCoding(&out)
        if !type.actions.isEmpty {
            out.line()
            writeVocabulary(&out)
        }
        return out.text
    }

    private func writeMembers(_ out: inout CodeText) {
        for (member, name) in zip(type.members, memberNames) {
            out.lines(Self.comment(member))
            let value = member.fallback.map { " = " + literal($0, as: member.schema) } ?? ""
            out.line("public var \(name): \(swiftType(of: member))\(value)")
        }
        for (member, name) in zip(type.computed, memberNames.dropFirst(type.members.count)) {
            let type = valueType(of: member.schema)
            out.lines(Self.comment(member))
            out.line("public private(set) var \(name): \(type)\(type == "JSON" ? " = .null" : "")")
        }
        if !memberNames.isEmpty { out.line() }
    }

    private func writeActions(_ out: inout CodeText) {
        out.block("public enum Action: Codable, Sendable, Equatable {") { out in
            for (action, name) in zip(type.actions, actionNames) {
                out.lines(Self.comment(action.summary, Self.remarks(on: action.payload)))
                out.line("case \(name)\(parameters(of: action.payload))")
            }
        }
        out.line()
        if type.actions.isEmpty {
            out.line("public static let actions = ActionList<\(name)>()")
        } else {
            out.block("public static let actions = ActionList<\(name)>(declared: [", "])") { out in
                for action in type.actions {
                    let payload = action.payload.map { member in
                        "\(Self.quoted(member.name)): \(Self.declaration(of: member))"
                    }
                    let members = payload.isEmpty ? ":" : payload.joined(separator: ", ")
                    out.line("\(Self.quoted(action.name)): [\(members)],")
                }
            }
        }
        out.line()
        out.line("/// Only the bus knows the rules.")
        out.line("public typealias Mutations = MirroredMutations<\(name)>")
    }

    /// Functions for those who dispatch.
    private func writeVocabulary(_ out: inout CodeText) {
        out.block("nonisolated extension Actions<\(name)> {") { out in
            for (index, action) in type.actions.enumerated() {
                if index > 0 { out.line() }
                out.lines(Self.comment(action.summary, Self.remarks(on: action.payload)))
                let parameters = action.payload.isEmpty ? "()" : self.parameters(of: action.payload)
                out.block("public func \(actionNames[index])\(parameters) {") { out in
                    let names = Self.parameterNames(of: action.payload)
                    let arguments = names.map { "\(Self.label($0)): \($0)" }.joined(separator: ", ")
                    let call = names.isEmpty ? "" : "(\(arguments))"
                    out.line("self.dispatch(.\(actionNames[index])\(call))")
                }
            }
        }
    }

    // MARK: Nested types

    private func writeNested(_ shape: Schema.Shape, _ name: String, _ out: inout CodeText) {
        out.line()
        switch shape {
        case .choice(let values):
            let values = values.strings ?? []
            out.block(
                "public enum \(name): String, Codable, Sendable, CaseIterable, ActionArgument {"
            ) { out in
                for (value, name) in zip(values, Self.caseNames(of: values)) {
                    let isSame = name == value || name == "`\(value)`"
                    out.line("case \(name)\(isSame ? "" : " = " + Self.quoted(value))")
                }
            }
        case .structure(let members): writeStructure(members, name, &out)
        default: break
        }
    }

    private func writeStructure(_ members: [Member], _ name: String, _ out: inout CodeText) {
        out.block("public struct \(name): Codable, Sendable, Equatable {") { out in
            let names = Self.structureNames(of: members)
            for (member, name) in zip(members, names) {
                out.lines(Self.comment(member))
                out.line("public var \(name): \(swiftType(of: member))")
            }
            if !members.isEmpty { out.line() }
            let parameters = zip(members, names).map { member, name in
                let fallback =
                    member.mayBeAbsent ? "nil" : member.fallback.map { literal($0, as: member.schema) }
                return "\(Self.label(name)): \(swiftType(of: member))\(fallback.map { " = " + $0 } ?? "")"
            }
            out.block("public init(\(parameters.joined(separator: ", "))) {") { out in
                for name in names { out.line("self.\(name) = \(name)") }
            }
            out.line()
            writeDecoding(zip(members, names).map { ($0, $1) }, &out)
            out.line()
            writeEncoding(zip(members, names).map { ($0, $1) }, &out)
        }
    }

    /// Coding by names as they are on the wire.
    private func writeName(_ out: inout CodeText) {
        out.line("/// A name on the wire.")
        out.block("fileprivate struct Name: CodingKey, ExpressibleByStringLiteral {") { out in
            out.line("let stringValue: String")
            out.line("let intValue: Int? = nil")
            out.line("init(stringValue: String) { self.stringValue = stringValue }")
            out.line("init(stringLiteral text: String) { stringValue = text }")
            out.line("init?(intValue: Int) { nil }")
        }
    }
}
