import BusJSON

/// An error of an expression, by its type.
struct ModelError: Error {
    let type: String
    init(_ type: String) { self.type = type }
    static let notANumber = ModelError("NaN")
    static let arguments = ModelError("Invalid Arguments")
    static let overflow = ModelError("Overflow")
}

/// Evaluates expressions by the Operators page, one operator after the other.
struct ModelExpression {
    /// The data, innermost last. An iteration adds two: what is known about it, and the element.
    private var frames: [JSON]

    init(_ data: JSON) { frames = [data] }

    static func evaluate(_ rule: JSON, on data: JSON) throws -> JSON {
        try ModelExpression(data).value(rule)
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
            return Self.find(
                path.isEmpty ? [] : path.split(separator: ".").map(String.init), in: frames.last!)
                ?? .null
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
            guard let type = try value(list[0]).string else { throw ModelError.arguments }
            throw ModelError(type)
        case "map", "filter", "all", "some", "none", "reduce", "sort": return try iterate(name, list)
        case "==", "!=", "===", "!==", "<", "<=", ">", ">=": return try compare(name, list)
        default: return try Self.apply(name, to: operands(operand))
        }
    }

    /// Given one operation that makes an array, its elements are the operands.
    private func operands(_ operand: JSON) throws -> [JSON] {
        if let list = operand.array { return try list.map { try value($0) } }
        let single = try value(operand)
        guard operand.object != nil, let elements = single.array else { return [single] }
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
        return Self.find(path, in: frames[frames.count - 1 - up])
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
            // Only integers are sorted here: all that the random types sort.
            return .array(elements.compactMap(\.int).sorted().map(JSON.int))
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
        if left.isNull && right.isNull || left.kind == right.kind { return areAlike(left, right) }
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

    // MARK: Numbers and texts

    /// What a value counts as, where a number is wanted.
    private static func number(_ value: JSON) throws -> JSON {
        switch value {
        case .int, .double: return value
        case .null: return 0
        case .bool(let flag): return flag ? 1 : 0
        case .string(let text):
            if let whole = Int(text) { return .int(whole) }
            guard let number = Double(text) else { throw ModelError.notANumber }
            return .double(number)
        default: throw ModelError.notANumber
        }
    }

    private static func finite(_ number: Double) throws -> JSON {
        if !number.isFinite { throw ModelError.overflow }
        return .double(number)
    }

    private static func exact(_ result: (partialValue: Int, overflow: Bool)) throws -> JSON {
        if result.overflow { throw ModelError.overflow }
        return .int(result.partialValue)
    }

    /// One step of arithmetic.
    private static func combine(_ name: String, _ left: JSON, _ right: JSON) throws -> JSON {
        if case .int(let a) = left, case .int(let b) = right {
            switch name {
            case "+": return try exact(a.addingReportingOverflow(b))
            case "-": return try exact(a.subtractingReportingOverflow(b))
            case "*": return try exact(a.multipliedReportingOverflow(by: b))
            case "max": return .int(max(a, b))
            case "min": return .int(min(a, b))
            case "%":
                if b == 0 { throw ModelError.notANumber }
                return b == -1 ? 0 : .int(a % b)
            default:
                if b == 0 { throw ModelError.notANumber }
                if b == -1 { return try exact((0).subtractingReportingOverflow(a)) }
                return a % b == 0 ? .int(a / b) : .double(Double(a) / Double(b))
            }
        }
        let (a, b) = (left.double!, right.double!)
        switch name {
        case "+": return try finite(a + b)
        case "-": return try finite(a - b)
        case "*": return try finite(a * b)
        case "max": return a >= b ? left : right
        case "min": return a <= b ? left : right
        default:
            if b == 0 { throw ModelError.notANumber }
            return try finite(name == "%" ? a.truncatingRemainder(dividingBy: b) : a / b)
        }
    }

    /// Operators whose operands are all evaluated.
    private static func apply(_ name: String, to operands: [JSON]) throws -> JSON {
        switch name {
        case "!": return .bool(!isTrue(operands[0]))
        case "!!": return .bool(isTrue(operands[0]))
        case "+", "-", "*", "/", "%", "max", "min":
            let numbers = try operands.map { try number($0) }
            guard let first = numbers.first else {
                if name == "+" { return 0 }
                if name == "*" { return 1 }
                throw ModelError.arguments
            }
            if numbers.count == 1 {
                if name == "-" { return try negative(first) }
                if name == "/" { return try combine("/", 1, first) }
                return first
            }
            // A sum begins at the integer 0, so that of negative zeros is 0.0.
            if name == "+" { return try numbers.reduce(0) { try combine(name, $0, $1) } }
            return try numbers.dropFirst().reduce(first) { try combine(name, $0, $1) }
        case "abs":
            let value = try number(operands[0])
            return value.double! < 0 ? try negative(value) : value
        case "merge": return .array(operands.flatMap { $0.array ?? [$0] })
        case "in":
            if let elements = operands[1].array {
                return .bool(elements.contains { areAlike($0, operands[0]) })
            }
            guard let text = operands[1].string, let part = operands[0].string else { return false }
            return .bool(contains(Array(text.utf8), Array(part.utf8)))
        case "length":
            switch operands[0] {
            case .null: return 0
            case .array(let elements): return .int(elements.count)
            case .object(let members): return .int(members.count)
            case .string(let text): return .int(text.unicodeScalars.count)
            default: throw ModelError.arguments
            }
        case "keys", "values":
            if operands[0].isNull { return [] }
            guard let members = operands[0].object else { throw ModelError.arguments }
            return .array(members.map { name == "keys" ? .string($0.key) : $0.value })
        case "cat": return .string(try operands.map { try text($0) }.joined())
        case "join":
            return .string(
                try (operands[0].array ?? []).map { try text($0) }.joined(separator: text(operands[1])))
        case "substr":
            return .string(
                substring(
                    operands[0].isNull ? "null" : try text(operands[0]),
                    operands.dropFirst().compactMap(\.int)))
        default: throw ModelError("The model knows no \(name).")
        }
    }

    private static func negative(_ value: JSON) throws -> JSON {
        if case .int(let whole) = value { return try exact((0).subtractingReportingOverflow(whole)) }
        return .double(-value.double!)
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        part.isEmpty ? !text.isEmpty : text.indices.contains { text[$0...].starts(with: part) }
    }

    private static func text(_ value: JSON) throws -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .double(let number) where number == number.rounded() && abs(number) < 1e15:
            return "\(Int(number))"
        case .array, .object: throw ModelError.arguments
        default: return value.encoded
        }
    }

    private static func substring(_ text: String, _ numbers: [Int]) -> String {
        let scalars = Array(text.unicodeScalars)
        let start = numbers[0] < 0 ? max(0, scalars.count + numbers[0]) : min(numbers[0], scalars.count)
        var end = scalars.count
        if numbers.count > 1 {
            end = numbers[1] < 0 ? scalars.count + numbers[1] : min(scalars.count, start + numbers[1])
        }
        return String(String.UnicodeScalarView(scalars[start..<max(start, end)]))
    }
}
