import BusJSON

/// An array whose elements are evaluated.
final class ArrayNode: ExpressionNode, @unchecked Sendable {
    let elements: [ExpressionNode]

    init(_ elements: [ExpressionNode]) { self.elements = elements }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var values: [JSON] = []
        values.reserveCapacity(elements.count)
        for element in elements {
            let value = try element.value(&evaluation)
            try evaluation.produce(element: value)
            values.append(value)
        }
        return .array(values)
    }
}

/// An object whose members are evaluated.
final class ObjectNode: ExpressionNode, @unchecked Sendable {
    /// Ascending by their bytes.
    let keys: [String]
    let values: [ExpressionNode]

    init(keys: [String], values: [ExpressionNode]) {
        self.keys = keys
        self.values = values
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var members: [JSONObject.Member] = []
        members.reserveCapacity(keys.count)
        for index in keys.indices {
            let value = try values[index].value(&evaluation)
            try evaluation.produce(keys[index].utf8.count)
            try evaluation.produce(element: value)
            members.append(.init(key: keys[index], value: value))
        }
        return .object(JSONObject(sorted: members))
    }
}

/// `merge`: the elements of all operands in one array; what is no array counts as one element.
final class MergeNode: ExpressionNode, @unchecked Sendable {
    let operands: [ExpressionNode]

    init(_ operands: [ExpressionNode]) { self.operands = operands }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var merged: [JSON] = []
        for operand in operands {
            let value = try operand.value(&evaluation)
            guard case .array(let elements) = value else {
                try evaluation.produce(element: value)
                merged.append(value)
                continue
            }
            for element in elements { try evaluation.produce(element: element) }
            merged.append(contentsOf: elements)
        }
        return .array(merged)
    }
}
