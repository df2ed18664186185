import BusJSON

/// What actions and migrations write, found before any of it is written.
extension ModelType {
    /// The writes of an object of the definition, in the order in which they are made: those of each kind, then those of `patch`,
    /// then what `each` repeats.
    static func writes(
        of object: JSON, on data: JSON, _ names: ModelExpression.Names
    ) throws -> [ModelWrite] {
        func value(_ rule: JSON, _ path: String?) throws -> JSON {
            do {
                return try ModelExpression.evaluate(rule, on: data, names)
            } catch { throw ModelWrite.Failure(path: path) }
        }
        func keys(_ path: String) throws -> [String] {
            try parts(of: path).map { part in
                guard part.hasPrefix("{") else { return part }
                let key = try value(["var": .string(String(part.dropFirst().dropLast()))], path)
                guard let key = key.string ?? key.int.map(String.init) else {
                    throw ModelWrite.Failure(path: path)
                }
                return key
            }
        }
        func patch(_ rule: JSON, at path: String?) throws -> [ModelWrite] {
            let base = try path.map(keys) ?? []
            guard let members = try value(rule, path).object else { throw ModelWrite.Failure(path: path) }
            return members.map {
                ModelWrite(kind: "set", path: base + [$0.key], value: $0.value, isPatch: true)
            }
        }
        var writes: [ModelWrite] = []
        for kind in ModelWrite.kinds {
            for (path, rule) in steps(object[kind]) {
                writes.append(ModelWrite(kind: kind, path: try keys(path), value: try value(rule, path)))
            }
        }
        if let rule = object["patch"] {
            if isOperation(rule) {
                writes += try patch(rule, at: nil)
            } else {
                for (path, rule) in steps(rule) { writes += try patch(rule, at: path) }
            }
        }
        for repetition in object["each"]?.array ?? object["each"].map({ [$0] }) ?? [] {
            for locals in try rounds(value(repetition["in"] ?? .null, nil), repetition["as"] ?? .null) {
                var inner = data.object ?? [:]
                for local in locals { inner[local.key] = local.value }
                writes += try Self.writes(of: repetition, on: .object(inner), names)
            }
        }
        return writes
    }

    /// What the names of `each` mean in its rounds.
    private static func rounds(_ range: JSON, _ names: JSON) throws -> [JSONObject] {
        let elements: [(key: JSON, value: JSON)]
        if let array = range.array {
            elements = array.enumerated().map { (.int($0.offset), $0.element) }
        } else if let members = range.object {
            elements = members.map { (.string($0.key), $0.value) }
        } else {
            throw ModelWrite.Failure(path: nil)
        }
        if let pair = names.array?.compactMap(\.string), pair.count == 2 {
            return elements.map { [pair[0]: $0.key, pair[1]: $0.value] }
        }
        let name = names.string ?? ""
        return elements.map { [name: range.array == nil ? $0.key : $0.value] }
    }

    /// Whether a patch is an expression of a map, and no object of paths.
    private static func isOperation(_ rule: JSON) -> Bool {
        ["var", "object"].contains(rule.object?.keys.first ?? "") && rule.object?.count == 1
    }

    /// The writes of one kind in written order: paths with the rules of their values.
    private static func steps(_ json: JSON?) -> [(path: String, rule: JSON)] {
        switch json {
        case .array(let elements)?:
            elements.flatMap { element in element.string.map { [($0, JSON.null)] } ?? steps(element) }
        case .object(let members)?: members.map { ($0.key, $0.value) }
        default: []
        }
    }

    /// The parts between the dots of a path; a dot inside of braces divides nothing.
    private static func parts(of path: String) -> [String] {
        path.reduce(into: [""]) { parts, letter in
            if letter == ".", !parts.last!.hasPrefix("{") || parts.last!.hasSuffix("}") {
                parts.append("")
            } else {
                parts[parts.count - 1].append(letter)
            }
        }
    }

    /// Whether an action makes members of the state by names that only data tells.
    static func makesMembers(_ action: JSON) -> Bool {
        steps(action["set"]).contains { $0.path.hasPrefix("{") && parts(of: $0.path).count == 1 }
            || (action["each"]?.array ?? action["each"].map { [$0] } ?? []).contains(where: makesMembers)
    }
}
