import BusJSON

/// An error of an expression, by its type.
struct ModelError: Error {
    let type: String
    /// The model does not have the operator.
    let isIgnorance: Bool

    init(_ type: String) { (self.type, isIgnorance) = (type, false) }
    init(ignoring name: String) { (type, isIgnorance) = ("The model knows no \(name).", true) }

    static let notANumber = ModelError("NaN")
    static let arguments = ModelError("Invalid Arguments")
    static let overflow = ModelError("Overflow")
}

/// Evaluates expressions by the Operators page, one operator after the other.
struct ModelExpression {
    /// The data, innermost last. An iteration adds two: what is known about it, and the element.
    private var frames: [JSON]
    private let names: Names

    /// `let` of a type, by name, and the data that its expressions see.
    struct Names {
        var rules: JSONObject = [:]
        var data: JSON = .null
    }

    static func evaluate(_ rule: JSON, on data: JSON, _ names: Names = Names()) throws -> JSON {
        try ModelExpression(frames: [data], names: names).value(rule)
    }

    static func isTrue(_ value: JSON) -> Bool {
        switch value {
        case .null, .bool(false), .int(0), .string(""): false
        case .double(let number): number != 0
        case .array(let elements): !elements.isEmpty
        default: true
        }
    }

    func value(_ rule: JSON) throws -> JSON {
        if let elements = rule.array { return .array(try elements.map { try value($0) }) }
        guard let object = rule.object else { return rule }
        guard object.count == 1, let operation = object.members.first else {
            return try built(object)
        }
        return try apply(operation.key, operation.value)
    }

    private func built(_ members: JSONObject) throws -> JSON {
        var result = JSONObject()
        for member in members { result[member.key] = try value(member.value) }
        return .object(result)
    }

    private func inner(_ info: JSON, _ data: JSON) -> ModelExpression {
        var copy = self
        copy.frames += [info, data]
        return copy
    }

    private func apply(_ name: String, _ operand: JSON) throws -> JSON {
        let list = operand.array ?? [operand]
        switch name {
        case "literal": return operand
        case "object": return try built(operand.object ?? [:])
        case "var":
            let path = list.first?.string ?? ""
            let parts = path.isEmpty ? [] : path.split(separator: ".").map(String.init)
            if let found = try find(parts, up: 0) { return found }
            return list.count > 1 ? try value(list[1]) : .null
        case "val": return try place(list) ?? .null
        case "exists": return .bool(try place(list) != nil)
        case "if": return try choose(list)
        case "and":
            var last = JSON.bool(false)
            for rule in list {
                last = try value(rule)
                if !Self.isTrue(last) { break }
            }
            return last
        case "or":
            var last = JSON.bool(false)
            for rule in list {
                last = try value(rule)
                if Self.isTrue(last) { break }
            }
            return last
        case "??":
            for rule in list {
                let found = try value(rule)
                if !found.isNull { return found }
            }
            return .null
        case "try": return try attempt(list)
        case "throw":
            let error = try value(list[0])
            throw ModelError(error.string ?? error["type"]?.string ?? "")
        case "map", "filter", "all", "some", "none", "reduce", "sort": return try iterate(name, list)
        case "==", "!=", "===", "!==", "<", "<=", ">", ">=": return try compare(name, list)
        default: return try Self.apply(name, to: operands(of: name, operand))
        }
    }

    /// Given one operation that makes an array, its elements are the operands.
    private func operands(of name: String, _ operand: JSON) throws -> [JSON] {
        if let list = operand.array { return try list.map { try value($0) } }
        let single = try value(operand)
        let spreads = ["+", "-", "*", "/", "%", "max", "min", "cat"].contains(name) && operand.object != nil
        guard spreads, let elements = single.array else { return [single] }
        return elements
    }

    // MARK: Data

    private static func find(_ path: [String], in data: JSON) -> JSON? {
        var place = data
        for part in path {
            guard let next = place[part] ?? Int(part).flatMap({ place[$0] }) else { return nil }
            place = next
        }
        return place
    }

    private func place(_ list: [JSON]) throws -> JSON? {
        var (rules, up) = (list, 0)
        if let steps = list.first?.array?.first?.int {
            rules.removeFirst()
            up = steps
        }
        let path = try rules.map { rule in
            let part = try value(rule)
            return part.string ?? part.int.map(String.init) ?? ""
        }
        return try find(path, up: up)
    }

    /// What stands at a path of the data so many frames up. A name is worked out each time that it is read.
    private func find(_ path: [String], up: Int) throws -> JSON? {
        let frame = frames.count - 1 - up
        guard frame == 0, let name = path.first, let rule = names.rules[name] else {
            return Self.find(path, in: frames[frame])
        }
        return Self.find(Array(path.dropFirst()), in: try Self.evaluate(rule, on: names.data, names))
    }

    // MARK: Decisions

    private func choose(_ list: [JSON]) throws -> JSON {
        var rest = list[...]
        while rest.count > 1 {
            let (condition, result) = (rest.removeFirst(), rest.removeFirst())
            if Self.isTrue(try value(condition)) { return try value(result) }
        }
        return try rest.first.map { try value($0) } ?? .null
    }

    private func attempt(_ list: [JSON]) throws -> JSON {
        var last = ModelError.arguments
        for (index, rule) in list.enumerated() {
            let scope = index == 0 ? self : inner(.null, ["type": .string(last.type)])
            do {
                return try scope.value(rule)
            } catch let error as ModelError {
                last = error
            }
        }
        throw last
    }

    // MARK: Arrays

    private func iterate(_ name: String, _ list: [JSON]) throws -> JSON {
        let subject = try value(list[0])
        if ["all", "some", "none"].contains(name), subject.array == nil { throw ModelError.arguments }
        let elements = subject.array ?? []
        func at(_ index: Int) throws -> JSON {
            try inner(["index": .int(index)], elements[index]).value(list[1])
        }
        switch name {
        case "map": return .array(try elements.indices.map { try at($0) })
        case "filter":
            return .array(try elements.indices.filter { Self.isTrue(try at($0)) }.map { elements[$0] })
        case "all":
            return .bool(try !elements.isEmpty && elements.indices.allSatisfy { Self.isTrue(try at($0)) })
        case "some": return .bool(try elements.indices.contains { Self.isTrue(try at($0)) })
        case "none": return .bool(!(try elements.indices.contains { Self.isTrue(try at($0)) }))
        case "sort":
            guard subject.isNull || subject.array != nil else { throw ModelError.arguments }
            let hasKey = list.count > 1 && !list[1].isNull
            let keys = try elements.indices.map { hasKey ? try at($0) : elements[$0] }
            if keys.contains(where: { Self.rank($0) == nil }) { throw ModelError.arguments }
            let isDescending = list.count > 2 && list[2] == "descending"
            let order = elements.indices.sorted { one, other in
                if Self.precedes(keys[one], keys[other]) { return !isDescending }
                if Self.precedes(keys[other], keys[one]) { return isDescending }
                return one < other
            }
            return .array(order.map { elements[$0] })
        default:
            var accumulator = list.count > 2 ? try value(list[2]) : .null
            for (index, element) in elements.enumerated() {
                accumulator = try inner(
                    ["index": .int(index)], ["current": element, "accumulator": accumulator]
                ).value(list[1])
            }
            return accumulator
        }
    }

    /// Null comes first, then false, true, numbers, texts; nothing else has an order.
    private static func rank(_ key: JSON) -> Int? {
        switch key {
        case .null: 0
        case .bool(let flag): flag ? 2 : 1
        case .int, .double: 3
        case .string: 4
        default: nil
        }
    }

    private static func precedes(_ one: JSON, _ other: JSON) -> Bool {
        guard let left = rank(one), let right = rank(other), left == right else {
            return rank(one) ?? 0 < rank(other) ?? 0
        }
        return left > 2 && (try? holds("<", one, other)) == true
    }

    // MARK: Comparisons

    private func compare(_ name: String, _ list: [JSON]) throws -> JSON {
        var left = try value(list[0])
        for rule in list.dropFirst() {
            let right = try value(rule)
            if try !Self.holds(name, left, right) { return false }
            left = right
        }
        return true
    }

    private static func holds(_ name: String, _ left: JSON, _ right: JSON) throws -> Bool {
        switch name {
        case "===": return areAlike(left, right)
        case "!==": return !areAlike(left, right)
        case "==": return try isEqual(left, right)
        case "!=": return try !isEqual(left, right)
        default:
            if let left = left.string, let right = right.string {
                return ordered(
                    name, Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8)), left == right)
            }
            // A text that is no number has no order with null and booleans.
            for (text, other) in [(left, right), (right, left)] where other.isNull || other.bool != nil {
                if text.string != nil, (try? number(text)) == nil { return false }
            }
            let (left, right) = (try number(left), try number(right))
            if case .int(let left) = left, case .int(let right) = right {
                return ordered(name, left < right, left == right)
            }
            return ordered(name, left.double! < right.double!, left.double! == right.double!)
        }
    }

    private static func ordered(_ name: String, _ isLess: Bool, _ isEqual: Bool) -> Bool {
        switch name {
        case "<": isLess
        case "<=": isLess || isEqual
        case ">": !isLess && !isEqual
        default: !isLess
        }
    }

    private static func isEqual(_ left: JSON, _ right: JSON) throws -> Bool {
        let hasNumber = left.double != nil || right.double != nil
        if left.kind == right.kind || !hasNumber && (left.isNull || right.isNull) {
            return areAlike(left, right)
        }
        return areAlike(try number(left), try number(right))
    }

    /// Deeply equal, and numbers by their value.
    static func areAlike(_ one: JSON, _ other: JSON) -> Bool {
        switch (one, other) {
        case (.int(let whole), .double(let number)), (.double(let number), .int(let whole)):
            Int(exactly: number) == whole
        case (.double(let a), .double(let b)): a == b
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(areAlike)
        case (.object(let a), .object(let b)):
            a.count == b.count
                && zip(a.members, b.members).allSatisfy { $0.key == $1.key && areAlike($0.value, $1.value) }
        default: one == other
        }
    }
}
