import BusJSON

/// `length`: how many elements an array has, members an object, Unicode scalars a text. Null has none.
final class LengthNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        switch try operand.value(&evaluation) {
        case .null: return .int(0)
        case .array(let elements): return .int(elements.count)
        case .object(let object): return .int(object.count)
        case .string(let text):
            try evaluation.spend(text.utf8.count >> 4)
            return .int(text.unicodeScalars.count)
        case let other:
            let reason = "needs a text, an array or an object and was given \(other.kind)"
            throw .invalidArguments(operation: "length", reason: reason)
        }
    }
}

/// `keys`, `values`, `entries`: what an object holds, as an array in the order of the keys' UTF-8 bytes. Null holds
/// nothing.
final class MembersNode: ExpressionNode, @unchecked Sendable {
    enum Part: String {
        case keys, values, entries
    }

    let part: Part
    let operand: ExpressionNode

    init(_ part: Part, _ operand: ExpressionNode) {
        self.part = part
        self.operand = operand
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let value = try operand.value(&evaluation)
        if case .null = value { return .array([]) }
        guard case .object(let object) = value else {
            let reason = "needs an object and was given \(value.kind)"
            throw .invalidArguments(operation: part.rawValue, reason: reason)
        }
        var results: [JSON] = []
        for member in object.members {
            try evaluation.spend()
            let result: JSON =
                switch part {
                case .keys: .string(member.key)
                case .values: member.value
                case .entries:
                    .object(
                        JSONObject(sorted: [
                            .init(key: "key", value: .string(member.key)),
                            .init(key: "value", value: member.value),
                        ]))
                }
            try evaluation.produce(element: result)
            results.append(result)
        }
        return .array(results)
    }
}

/// `sort`: the elements of an array in the order of a key; elements with equal keys keep their order. Null comes
/// before booleans, these before numbers, these before texts; arrays and objects have no order.
final class SortNode: ExpressionNode, @unchecked Sendable {
    enum Direction: String, CaseIterable {
        case ascending, descending
    }

    let list: ExpressionNode
    /// Gives an element's key; without it the element is its own.
    let key: Evaluation.Body?
    let direction: Direction

    init(_ list: ExpressionNode, by key: Evaluation.Body?, _ direction: Direction) {
        self.list = list
        self.key = key
        self.direction = direction
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let list = try list.value(&evaluation)
        if case .null = list { return .array([]) }
        let elements = try Evaluation.elements(of: list, for: "sort")
        let keys = try evaluation.keys(of: elements, by: key)
        for key in keys {
            switch key {
            case .array, .object:
                let reason = "goes by numbers, texts and booleans, and was given \(key.kind)"
                throw .invalidArguments(operation: "sort", reason: reason)
            default: continue
            }
        }
        return try evaluation.sorted(elements, by: keys, descending: direction == .descending)
    }
}

/// `group`: an object with the elements of an array by their keys, in their order. Keys are texts; numbers, booleans
/// and null are taken by theirs.
final class GroupNode: IterationNode, @unchecked Sendable {
    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let list = try list.value(&evaluation)
        if case .null = list { return .object(JSONObject()) }
        let elements = try Evaluation.elements(of: list, for: "group")
        var keys: [JSON] = []
        for key in try evaluation.keys(of: elements, by: body) {
            switch key {
            case .array, .object:
                let reason = "needs texts as keys and was given \(key.kind)"
                throw .invalidArguments(operation: "group", reason: reason)
            default: keys.append(.string(try evaluation.text(of: key)))
            }
        }
        let order = try evaluation.order(of: keys, descending: false)
        var members: [JSONObject.Member] = []
        var group: [JSON] = []
        for (place, index) in order.enumerated() {
            // The element stands two levels deeper than in a value of its own.
            try evaluation.produce(element: elements[index], depth: 3)
            group.append(elements[index])
            guard case .string(let key) = keys[index] else { continue }
            if place + 1 < order.count, keys[order[place + 1]] == keys[index] { continue }
            try evaluation.produce(16 + key.utf8.count)
            members.append(.init(key: key, value: .array(group)))
            group = []
        }
        return .object(JSONObject(sorted: members))
    }
}
