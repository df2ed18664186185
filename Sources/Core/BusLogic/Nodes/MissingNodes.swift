import BusJSON

/// `missing`: which of the named paths lead to nothing, to null or to an empty text.
final class MissingNode: ExpressionNode, @unchecked Sendable {
    /// The paths, as operands; the first one may be an array of all of them.
    let paths: [ExpressionNode]
    let scope: DataScope

    init(_ paths: [ExpressionNode], in scope: DataScope) {
        self.paths = paths
        self.scope = scope
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var names: [JSON] = []
        for path in paths { names.append(try path.value(&evaluation)) }
        if case .array(let all)? = names.first { names = all }
        return .array(try evaluation.missing(names, in: scope))
    }
}

/// `missing_some`: nothing if enough of the named paths are there, else those that are not.
final class MissingSomeNode: ExpressionNode, @unchecked Sendable {
    let needed: ExpressionNode
    let paths: ExpressionNode
    let scope: DataScope

    init(_ needed: ExpressionNode, _ paths: ExpressionNode, in scope: DataScope) {
        self.needed = needed
        self.paths = paths
        self.scope = scope
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let needed = try needed.value(&evaluation)
        let paths = try paths.value(&evaluation)
        let names: [JSON] = if case .array(let all) = paths { all } else { [paths] }
        let missing = try evaluation.missing(names, in: scope)
        guard let number = try evaluation.number(needed, as: \.number) else {
            throw .notNumber(operation: "missing_some", kind: needed.kind)
        }
        let present = Number.int(names.count - missing.count)
        return present.compared(to: number) >= 0 ? .array([]) : .array(missing)
    }
}

extension Evaluation {
    fileprivate mutating func missing(_ names: [JSON], in scope: DataScope) throws(EvaluationFailure)
        -> [JSON]
    {
        var missing: [JSON] = []
        for name in names {
            try spend()
            switch try find(path: name, in: scope) {
            case nil, .null?: break
            case .string(let text)? where text.utf8.isEmpty: break
            default: continue
            }
            try produce(element: name)
            missing.append(name)
        }
        return missing
    }
}
