import BusJSON

/// The coding of states, actions and objects.
extension SwiftCode {
    typealias Named = (member: Member, name: String)

    func writeStateCoding(_ out: inout CodeText) {
        let members = zip(type.members, memberNames).map { ($0, $1) }
        out.block("nonisolated extension \(name) {") { out in
            let computed = zip(type.computed, memberNames.dropFirst(members.count)).map { member, name in
                let type = valueType(of: member.schema)
                let (plain, end) = type == "JSON" ? (type, " ?? .null") : (String(type.dropLast()), "")
                let key = Self.quoted(member.name)
                return "\(name) = try members.decodeIfPresent(\(plain).self, forKey: \(key))\(end)"
            }
            writeDecoding(members, and: computed, &out)
            out.line()
            writeEncoding(members, &out)
        }
    }

    func writeDecoding(_ members: [Named], and more: [String] = [], _ out: inout CodeText) {
        out.block("public init(from decoder: any Decoder) throws {") { out in
            let isEmpty = members.isEmpty && more.isEmpty
            out.line("\(isEmpty ? "_" : "let members") = try decoder.container(keyedBy: Name.self)")
            for (member, name) in members {
                out.line("self.\(name) = \(decoding(of: member, from: "members"))")
            }
            out.lines(more.map { "self." + $0 })
        }
    }

    func writeEncoding(_ members: [Named], _ out: inout CodeText) {
        out.block("public func encode(to encoder: any Encoder) throws {") { out in
            out.line("\(members.isEmpty ? "_" : "var members") = encoder.container(keyedBy: Name.self)")
            for (member, name) in members {
                out.line(encoding(of: member, "self.\(name)", into: "members"))
            }
        }
    }

    /// The synthesised form, `{"name":{…}}`, with names as they are on the wire.
    func writeActionCoding(_ out: inout CodeText) {
        out.block("nonisolated extension \(name).Action {") { out in
            out.line("private typealias Name = \(name).Name")
            out.line()
            out.block("public init(from decoder: any Decoder) throws {") { out in writeActionDecoding(&out) }
            out.line()
            out.block("public func encode(to encoder: any Encoder) throws {") { out in
                writeActionEncoding(&out)
            }
        }
    }

    private func writeActionDecoding(_ out: inout CodeText) {
        out.line("let action = try decoder.container(keyedBy: Name.self)")
        out.line("let names = action.allKeys.map(\\.stringValue)")
        out.block("switch names.count == 1 ? names[0] : \"\" {", nil) { _ in }
        for (action, name) in zip(type.actions, actionNames) {
            out.block("case \(Self.quoted(action.name)):", nil) { out in
                let arguments = zip(action.payload, Self.parameterNames(of: action.payload)).map {
                    "\(Self.label($1)): \(decoding(of: $0, from: "payload"))"
                }
                guard !arguments.isEmpty else { return out.line("self = .\(name)") }
                out.line(
                    "let payload = try action.nestedContainer(keyedBy: Name.self, "
                        + "forKey: \(Self.quoted(action.name)))")
                out.block("self = .\(name)(", ")") { out in
                    for (index, argument) in arguments.enumerated() {
                        out.line(argument + (index + 1 < arguments.count ? "," : ""))
                    }
                }
            }
        }
        out.block("default:", nil) { out in
            out.line("let reason = \"\\(names) is not an action of \(type.name)\"")
            out.line(
                "throw DecodingError.dataCorrupted("
                    + ".init(codingPath: decoder.codingPath, debugDescription: reason))")
        }
        out.line("}")
    }

    private func writeActionEncoding(_ out: inout CodeText) {
        guard !type.actions.isEmpty else { return out.line("switch self {}") }
        out.line("var action = encoder.container(keyedBy: Name.self)")
        out.line("switch self {")
        for (action, name) in zip(type.actions, actionNames) {
            // Names of its own: those of the payload may be any.
            let values = action.payload.indices.map { "value\($0 + 1)" }
            let pattern = values.map { "let " + $0 }.joined(separator: ", ")
            out.block("case .\(name)\(values.isEmpty ? "" : "(\(pattern))"):", nil) { out in
                out.line(
                    "\(values.isEmpty ? "_" : "var payload") = action.nestedContainer(keyedBy: Name.self, "
                        + "forKey: \(Self.quoted(action.name)))")
                for (member, value) in zip(action.payload, values) {
                    out.line(encoding(of: member, value, into: "payload"))
                }
            }
        }
        out.line("}")
    }

    // MARK: One member

    private func decoding(of member: Member, from container: String) -> String {
        let key = Self.quoted(member.name)
        let type = valueType(of: member.schema)
        let isSimple = !type.hasSuffix("?") && type != "JSON"
        if member.isOptional {
            let fallback = member.fallback.map { literal($0, as: member.schema) }
            if isSimple {
                let end = fallback.map { " ?? " + $0 } ?? ""
                return "try \(container).decodeIfPresent(\(type).self, forKey: \(key))\(end)"
            }
            // Null and absence differ, and `nil` alone would be the null.
            let absent = type == "JSON" ? "nil" : "Optional<\(type)>.none"
            return "try \(container).contains(\(key)) "
                + "? \(container).decode(\(type).self, forKey: \(key)) : \(fallback ?? absent)"
        }
        if !member.isDeclared {
            return "try \(container).decodeIfPresent(JSON.self, forKey: \(key)) ?? .null"
        }
        return "try \(container).decode(\(type).self, forKey: \(key))"
    }

    private func encoding(of member: Member, _ value: String, into container: String) -> String {
        let function = member.mayBeAbsent ? "encodeIfPresent" : "encode"
        return "try \(container).\(function)(\(value), forKey: \(Self.quoted(member.name)))"
    }
}
