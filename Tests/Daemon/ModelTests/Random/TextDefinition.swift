import BusJSON

/// A definition whose expressions stand as text, as far as that says the same: what members hold must be known, so that nothing
/// is turned into another kind of value, and `&&` and `||` must not pass over what fails.
///
/// The model reads the definition as it was before.
struct TextDefinition {
    private enum Kind { case integer, number, text, boolean, list }

    private struct Text {
        let text: String
        let kind: Kind
        var canFail = false
    }

    /// What each path holds.
    private var kinds: [String: Kind]

    static func written(_ definition: JSON) -> JSON {
        guard let members = definition["state"]?.object else { return definition }
        var kinds: [String: Kind] = ["meta.revision": .integer, "meta.time": .number, "store": .text]
        for member in members {
            guard let kind = kind(of: member.value) else { continue }
            kinds[member.key] = kind
            kinds["state.\(member.key)"] = kind
        }
        for member in definition["let"]?.object ?? [:] {
            kinds[member.key] = ["w2": .list, "w3": .text][member.key] ?? .integer
        }
        return TextDefinition(kinds: kinds).type(definition.object!)
    }

    /// What a schema allows, if that is one kind of value.
    private static func kind(of schema: JSON) -> Kind? {
        if schema["nullable"] == true { return nil }
        // To compare with a word that is not one of those is a mistake in text.
        if schema["enum"] != nil { return nil }
        switch schema.string ?? schema["type"]?.string {
        case "integer": return .integer
        case "number": return .number
        case "string": return .text
        case "boolean": return .boolean
        case "array": return .list
        default: return nil
        }
    }

    // MARK: Places

    private func type(_ definition: JSONObject) -> JSON {
        var result = definition
        for word in ["let", "computed"] where result[word] != nil { result[word] = values(result[word]!) }
        result["invariant"] = result["invariant"]?.array.map { .array($0.map { members(["if"], of: $0) }) }
        for word in ["actions", "timers", "migrate"] {
            guard let named = result[word]?.object else { continue }
            var written = JSONObject()
            for member in named {
                written[member.key] = word == "timers" ? timer(member.value) : action(member.value)
            }
            result[word] = .object(written)
        }
        return .object(result)
    }

    private func action(_ action: JSON) -> JSON {
        var inner = self
        for member in action["payload"]?.object ?? [:] {
            inner.kinds["payload.\(member.key)"] = Self.kind(of: member.value)
        }
        guard case .object(var result) = inner.writes(members(["when", "returns"], of: action, inner)) else {
            return action
        }
        result["require"] = result["require"]?.array.map {
            .array($0.map { members(["if", "else"], of: $0, inner) })
        }
        if let timers = result["timers"]?.object {
            var written = JSONObject()
            for member in timers { written[member.key] = inner.timer(member.value) }
            result["timers"] = .object(written)
        }
        return .object(result)
    }

    private func timer(_ timer: JSON) -> JSON {
        guard case .object(var result) = members(["in", "while"], of: timer) else { return timer }
        result["payload"] = result["payload"].map(values)
        return .object(result)
    }

    /// The writes of an action, a migration or a repetition.
    private func writes(_ object: JSON) -> JSON {
        guard var result = object.object else { return object }
        for kind in ModelWrite.kinds {
            if let steps = result[kind], steps.array == nil { result[kind] = values(steps) }
        }
        guard let each = result["each"] else { return .object(result) }
        result["each"] = each.array.map { .array($0.map(repetition)) } ?? repetition(each)
        return .object(result)
    }

    private func repetition(_ repetition: JSON) -> JSON {
        let range = repetition["in"].flatMap(expression)
        var inner = self
        let names = repetition["as"]?.array?.compactMap(\.string) ?? [repetition["as"]?.string ?? ""]
        // A name within hides the one around it, of whatever kind that was.
        for name in names { inner.kinds[name] = range?.kind == .list ? .integer : nil }
        return inner.writes(members(["in"], of: repetition))
    }

    private func members(_ names: [String], of object: JSON, _ scope: TextDefinition? = nil) -> JSON {
        guard var result = object.object else { return object }
        for name in names { result[name] = result[name].map((scope ?? self).rule) }
        return .object(result)
    }

    private func values(_ object: JSON) -> JSON {
        guard let members = object.object else { return object }
        var result = JSONObject()
        for member in members { result[member.key] = rule(member.value) }
        return .object(result)
    }

    private func rule(_ rule: JSON) -> JSON {
        guard rule.object?.count == 1, rule["literal"] == nil, let text = expression(rule) else {
            return rule
        }
        return .string("= \(text.text)")
    }

    // MARK: Expressions

    private func expression(_ rule: JSON) -> Text? {
        switch rule {
        case .int: return Text(text: "(\(rule.encoded))", kind: .integer)
        case .double: return Text(text: "(\(rule.encoded))", kind: .number)
        case .bool: return Text(text: rule.encoded, kind: .boolean)
        case .string: return Text(text: rule.encoded, kind: .text)
        case .array(let elements):
            let texts = elements.compactMap(expression)
            guard texts.count == elements.count, texts.allSatisfy({ $0.kind == .integer }) else { return nil }
            return Text(
                text: "[\(texts.map(\.text).joined(separator: ", "))]", kind: .list,
                canFail: texts.contains(where: \.canFail))
        default: break
        }
        guard let operation = rule.object?.members.first, rule.object?.count == 1 else { return nil }
        let operands = operation.value.array ?? [operation.value]
        switch operation.key {
        case "literal": return expression(operation.value)
        case "var":
            guard operands.count == 1, let path = operands[0].string, let kind = kinds[path] else {
                return nil
            }
            // What `let` names is worked out where it is read.
            return Text(text: path, kind: kind, canFail: path.hasPrefix("w"))
        case "filter", "map", "all", "some", "none": return iteration(operation.key, operands)
        case "exists":
            let path = operands.compactMap(\.string).joined(separator: ".")
            return path.hasPrefix("state.m1.") ? Text(text: "has(\(path))", kind: .boolean) : nil
        case "reduce":
            guard let list = expression(operands[0]), list.kind == .list else { return nil }
            return Text(text: "sum(\(list.text))", kind: .integer, canFail: true)
        default: break
        }
        let texts = operands.compactMap(expression)
        guard texts.count == operands.count, let made = apply(operation.key, texts) else { return nil }
        let canFail = made.canFail || texts.contains(where: \.canFail)
        return Text(text: made.text, kind: made.kind, canFail: canFail)
    }

    /// Operators of operands that are all expressions of the same data.
    private func apply(_ name: String, _ operands: [Text]) -> Text? {
        let texts = operands.map(\.text)
        let kinds = operands.map(\.kind)
        let areNumbers = kinds.allSatisfy { $0 == .integer || $0 == .number }
        let number = kinds.contains(.number) ? Kind.number : .integer
        switch (name, operands.count) {
        case ("+", 2) where areNumbers, ("-", 2) where areNumbers, ("*", 2) where areNumbers:
            return Text(text: "(\(texts[0]) \(name) \(texts[1]))", kind: number, canFail: true)
        case ("max", 2) where number == .integer && areNumbers:
            return Text(text: "math.greatest(\(texts[0]), \(texts[1]))", kind: .integer)
        case ("min", 2) where areNumbers:
            return Text(text: "math.least(\(texts[0]), \(texts[1]))", kind: number)
        case ("abs", 1) where kinds == [.integer]:
            return Text(text: "math.abs(\(texts[0]))", kind: .integer, canFail: true)
        case ("length", 1) where kinds == [.list] || kinds == [.text]:
            return Text(text: "size(\(texts[0]))", kind: .integer)
        case ("if", 3) where kinds[0] == .boolean && kinds[1] == kinds[2]:
            return Text(text: "(\(texts[0]) ? \(texts[1]) : \(texts[2]))", kind: kinds[1])
        case ("<", 2), ("<=", 2), (">", 2), (">=", 2):
            guard areNumbers else { return nil }
            return Text(text: "(\(texts[0]) \(name) \(texts[1]))", kind: .boolean)
        case ("<", 3) where areNumbers && !operands[0].canFail && !operands[1].canFail:
            return Text(
                text: "(\(texts[0]) < \(texts[1]) && \(texts[1]) < \(texts[2]))", kind: .boolean)
        case ("==", 2), ("===", 2):
            guard kinds[0] == kinds[1] else { return nil }
            return Text(text: "(\(texts[0]) == \(texts[1]))", kind: .boolean)
        case ("!", 1) where kinds == [.boolean]: return Text(text: "!\(texts[0])", kind: .boolean)
        case ("!!", 1) where kinds == [.integer]: return Text(text: "(\(texts[0]) != 0)", kind: .boolean)
        case ("and", 2), ("or", 2):
            guard kinds == [.boolean, .boolean], !operands[0].canFail else { return nil }
            return Text(text: "(\(texts[0]) \(name == "and" ? "&&" : "||") \(texts[1]))", kind: .boolean)
        case ("in", 2) where kinds == [.text, .text]:
            return Text(text: "\(texts[1]).contains(\(texts[0]))", kind: .boolean)
        case ("in", 2) where kinds == [.integer, .list]:
            return Text(text: "(\(texts[0]) in \(texts[1]))", kind: .boolean)
        case ("sort", 1) where kinds == [.list]: return Text(text: "\(texts[0]).sort()", kind: .list)
        case ("merge", 2) where kinds == [.list, .integer]:
            return Text(text: "(\(texts[0]) + [\(texts[1])])", kind: .list)
        default: return nil
        }
    }

    /// An iteration over a list of integers.
    private func iteration(_ name: String, _ operands: [JSON]) -> Text? {
        guard let list = expression(operands[0]), list.kind == .list,
            let operation = operands[1].object?.members.first, let parts = operation.value.array,
            let left = element(parts[0]), let right = element(parts[1])
        else { return nil }
        let body = "\(left) \(operation.key) \(right)"
        func made(_ text: String, _ kind: Kind) -> Text {
            Text(text: text, kind: kind, canFail: list.canFail || name == "map" || body.contains("w"))
        }
        switch name {
        case "filter": return made("\(list.text).transformList(i, x, \(body), x)", .list)
        case "map": return made("\(list.text).transformList(i, x, \(body))", .list)
        // None of no elements satisfies anything in JsonLogic, where all of them do in CEL.
        case "all": return made("(size(\(list.text)) > 0 && \(list.text).all(x, \(body)))", .boolean)
        case "some": return made("\(list.text).exists(x, \(body))", .boolean)
        default: return made("!\(list.text).exists(x, \(body))", .boolean)
        }
    }

    /// The element, its index, a name around the iteration, or a constant.
    private func element(_ rule: JSON) -> String? {
        if rule.int != nil { return "(\(rule.encoded))" }
        if rule == ["var": ""] { return "x" }
        if rule == ["val": [[1], "index"]] { return "i" }
        guard let name = rule["val"]?.array?.last?.string, kinds[name] == .integer else { return nil }
        return name
    }
}
