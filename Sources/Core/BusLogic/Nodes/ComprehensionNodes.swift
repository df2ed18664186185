import BusJSON

/// The macros that go through a list or a map, and give its elements one or two names: of a list an element, or its index
/// and itself; of a map a key, or it and its value.
class ComprehensionNode: ExpressionNode, @unchecked Sendable {
    let range: ExpressionNode
    let hasTwoNames: Bool
    /// What the failure calls the macro.
    let name: String

    init(_ name: String, _ range: ExpressionNode, hasTwoNames: Bool) {
        self.name = name
        self.range = range
        self.hasTwoNames = hasTwoNames
    }

    /// Goes through the elements until the body says that it is enough. The body is given the element, or its key.
    @inline(__always)
    final func forEach(
        _ evaluation: inout Evaluation,
        _ body: (inout Evaluation, JSON) throws(EvaluationFailure) -> Bool
    ) throws(EvaluationFailure) {
        try evaluation.spend()
        let range = try range.value(&evaluation)
        let slot = evaluation.locals.count
        evaluation.locals.append(.null)
        if hasTwoNames { evaluation.locals.append(.null) }
        defer { evaluation.locals.removeLast(hasTwoNames ? 2 : 1) }
        switch range {
        case .array(let elements):
            for index in elements.indices {
                try evaluation.spend()
                if hasTwoNames {
                    evaluation.locals[slot] = .int(index)
                    evaluation.locals[slot + 1] = elements[index]
                } else {
                    evaluation.locals[slot] = elements[index]
                }
                guard try body(&evaluation, elements[index]) else { return }
            }
        case .object(let object):
            for member in object.members {
                try evaluation.spend()
                evaluation.locals[slot] = .string(member.key)
                if hasTwoNames { evaluation.locals[slot + 1] = member.value }
                guard try body(&evaluation, .string(member.key)) else { return }
            }
        case let other: throw .failed("\(name) needs a list or a map and was given \(other.kind)")
        }
    }
}

/// `all` and `exists`: whichever element decides, decides, though others fail. Where none does, the first failure counts.
final class SearchNode: ComprehensionNode, @unchecked Sendable {
    let condition: ExpressionNode
    /// What decides: true for `exists`, false for `all`.
    let decisive: Bool

    init(
        _ name: String, _ range: ExpressionNode, hasTwoNames: Bool, _ condition: ExpressionNode,
        decisive: Bool
    ) {
        self.condition = condition
        self.decisive = decisive
        super.init(name, range, hasTwoNames: hasTwoNames)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        var failure: EvaluationFailure?
        var isDecided = false
        try forEach(&evaluation) { (evaluation, _) throws(EvaluationFailure) in
            do throws(EvaluationFailure) {
                isDecided = try condition.truth(&evaluation) == decisive
            } catch {
                failure = try error.absorbed(after: failure)
            }
            return !isDecided
        }
        if isDecided { return decisive }
        if let failure { throw failure }
        return !decisive
    }
}

/// `exists_one`: whether the condition holds for one element and no other.
final class SingleNode: ComprehensionNode, @unchecked Sendable {
    let condition: ExpressionNode

    init(_ name: String, _ range: ExpressionNode, hasTwoNames: Bool, _ condition: ExpressionNode) {
        self.condition = condition
        super.init(name, range, hasTwoNames: hasTwoNames)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        .bool(try truth(&evaluation))
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        var count = 0
        try forEach(&evaluation) { (evaluation, _) throws(EvaluationFailure) in
            if try condition.truth(&evaluation) { count += 1 }
            return true
        }
        return count == 1
    }
}

/// `map`, `filter`, `transformList`: a list of what is made of the elements for which the condition holds; without
/// `transform` of themselves.
final class TransformNode: ComprehensionNode, @unchecked Sendable {
    let condition: ExpressionNode?
    let transform: ExpressionNode?

    init(
        _ name: String, _ range: ExpressionNode, hasTwoNames: Bool, where condition: ExpressionNode?,
        _ transform: ExpressionNode?
    ) {
        self.condition = condition
        self.transform = transform
        super.init(name, range, hasTwoNames: hasTwoNames)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        var results: [JSON] = []
        try forEach(&evaluation) { (evaluation, element) throws(EvaluationFailure) in
            if let condition, try !condition.truth(&evaluation) { return true }
            if let transform {
                let result = try transform.value(&evaluation)
                try evaluation.produce(element: result)
                results.append(result)
            } else {
                try evaluation.keepElement()
                results.append(element)
            }
            return true
        }
        return .array(results)
    }
}

/// `transformMap` keeps keys and makes new values; `transformMapEntry` makes maps, which become one.
final class TransformMapNode: ComprehensionNode, @unchecked Sendable {
    let condition: ExpressionNode?
    let transform: ExpressionNode
    let makesEntries: Bool

    init(
        _ name: String, _ range: ExpressionNode, where condition: ExpressionNode?,
        _ transform: ExpressionNode,
        makesEntries: Bool
    ) {
        self.condition = condition
        self.transform = transform
        self.makesEntries = makesEntries
        super.init(name, range, hasTwoNames: true)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        var members: [JSONObject.Member] = []
        try forEach(&evaluation) { (evaluation, _) throws(EvaluationFailure) in
            if let condition, try !condition.truth(&evaluation) { return true }
            let result = try transform.value(&evaluation)
            if makesEntries {
                guard case .object(let entries) = result else {
                    throw .failed("\(name) needs a map for each element and was given \(result.kind)")
                }
                for member in entries.members { try Self.add(member, to: &members, &evaluation) }
            } else {
                let key = try evaluation.mapKey(evaluation.locals[evaluation.locals.count - 2])
                try Self.add(.init(key: key, value: result), to: &members, &evaluation)
            }
            return true
        }
        return .object(try evaluation.map(of: members))
    }

    private static func add(
        _ member: JSONObject.Member, to members: inout [JSONObject.Member], _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) {
        try evaluation.produce(member.key.utf8.count)
        try evaluation.produce(element: member.value)
        members.append(member)
    }
}

/// `sortBy`: the elements of a list in the order of what an expression says of each.
final class SortByNode: ComprehensionNode, @unchecked Sendable {
    let key: ExpressionNode

    init(_ range: ExpressionNode, by key: ExpressionNode) {
        self.key = key
        super.init("sortBy", range, hasTwoNames: false)
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        var elements: [JSON] = []
        var keys: [JSON] = []
        try forEach(&evaluation) { (evaluation, element) throws(EvaluationFailure) in
            elements.append(element)
            keys.append(try key.value(&evaluation))
            return true
        }
        return try evaluation.sorted(elements, by: keys, for: name)
    }
}

extension Evaluation {
    /// Elements in the order of keys that are all numbers, all texts or all booleans.
    mutating func sorted(
        _ elements: [JSON], by keys: [JSON], for name: String
    ) throws(EvaluationFailure) -> JSON {
        var kinds: ValueKinds = []
        for key in keys { kinds.formUnion(key.kinds.isDisjoint(with: .number) ? key.kinds : .number) }
        let orders: [ValueKinds] = [.number, .text, .bool]
        guard keys.isEmpty || orders.contains(kinds) else {
            throw .failed(
                "\(name) needs all numbers, all texts or all booleans to go by, and was given \(kinds.phrase)"
            )
        }
        return try sorted(elements, by: keys, descending: false)
    }
}
