import BusJSON
import BusSource

/// Compiles the paths of `val` and `exists`: segments, each a whole key or an index, perhaps after a climb.
///
/// `[[n], …]` climbs to the enclosing data. Each iteration takes two steps: the first leads to the iteration's `index`, the
/// second to the data around it. The target is known when the expression is compiled, so a climb costs no search.
extension ExpressionCompiler {
    /// What a climb leads to.
    private enum Target {
        case data(ExpressionScope)
        /// An iteration; its level is the number of scopes around its body, nil for the body being compiled.
        case iteration(level: Int?)
    }

    mutating func place(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ReadNode {
        var operands = operation.operands
        var target = Target.data(scope)
        var steps = 0
        if case .array(let climb)? = operands.first?.content {
            steps = try Self.steps(climb, operation)
            target = try Self.target(steps, from: scope, operation)
            operands.removeFirst()
        }
        let segments = try compileNames(operands, in: scope)
        let known = try Self.known(segments, operation)
        let isKnown = known.count == segments.count
        let rest = Array(segments[known.count...])
        switch target {
        case .data(let data):
            if let read = try readNamed(known, nil, in: data) {
                return isKnown ? read : SegmentsReadNode(read, rest, in: data.data)
            }
            note(read: known, in: data, operation)
            if isKnown { return try read(known, in: data, steps: steps, operation) }
            if steps > 0, !data.isOutermost {
                let start = try read(known, in: data, steps: steps, operation)
                return SegmentsReadNode(start, rest, in: data.data)
            }
            return try readSegments(known, rest, in: data, operation)
        case .iteration(let level):
            if level != nil { climbs = true }
            let index = IndexReadNode(known.map { ReadKey($0) }, level: level)
            return isKnown ? index : SegmentsReadNode(index, rest, in: scope.data)
        }
    }

    /// Checks a read against what exists; `exists` may ask for what does not.
    private func note(
        read known: [String], in data: ExpressionScope, _ operation: Operation
    ) {
        guard let review else { return }
        review.note(read: known, in: data, at: operation.place)
        // A segment written as plain data, such as {literal: …}, may name a member that only some states have.
        let isMeant = operation.operands.indices.contains { operation.isMeant($0) }
        if operation.name == "val", !isMeant { review.check(read: known, in: data, at: operation.place) }
    }

    /// A read of a path of which only the beginning is known.
    private mutating func readSegments(
        _ known: [String], _ rest: [ExpressionNode], in scope: ExpressionScope, _ operation: Operation
    ) throws(SourceError) -> ReadNode {
        let all = known.map { LiteralNode(.string($0)) } + rest
        if scope.isAction, known == ["stores"] { try check(stores: nil, in: scope, at: operation.place) }
        // What follows these two is looked up in the commit, not in a value, so a read can't start with their value.
        let isLookedUp = scope.isAction && (known == ["meta"] || known == ["stores"])
        guard !known.isEmpty, !isLookedUp else {
            if known.isEmpty { noteAll(in: scope) }
            return SegmentsReadNode(nil, all, in: scope.data)
        }
        let start = try read(known, nil, in: scope, at: operation.place)
        return SegmentsReadNode(start, rest, in: scope.data)
    }

    /// A read of a known path in the scope that is `steps` up.
    private mutating func read(
        _ keys: [String], in scope: ExpressionScope, steps: Int, _ operation: Operation
    ) throws(SourceError) -> ReadNode {
        // State and payload are the same in every scope; an element is read from its saved frame.
        guard steps > 0, !scope.isOutermost else {
            return try read(keys, nil, in: scope, at: operation.place)
        }
        climbs = true
        noteAll(in: scope)
        let isReduction = if case .reduction = scope.data { true } else { false }
        return FrameReadNode(
            keys.map { ReadKey($0) }, level: scope.outer.count, isReduction: isReduction)
    }

    private static func steps(
        _ climb: [LocatedValue], _ operation: Operation
    ) throws(SourceError) -> Int {
        // The sign does not matter: [[-1]] and [[1]] both climb one step.
        if climb.count == 1, case .scalar(.int(let steps)) = climb[0].content, steps != .min {
            return abs(steps)
        }
        throw SourceError(
            "An array at the start of \(operation.name) holds the one integer that says how far to climb.",
            at: operation.place)
    }

    private static func target(
        _ steps: Int, from scope: ExpressionScope, _ operation: Operation
    ) throws(SourceError) -> Target {
        let depth = scope.outer.count
        let scopes = steps / 2 + steps % 2
        guard scopes <= depth else {
            throw SourceError(
                "[[\(steps)]] climbs too far: here \(operation.name) can climb \(2 * depth) steps.",
                at: operation.place)
        }
        if steps % 2 == 0 { return .data(scopes == 0 ? scope : scope.outer[depth - scopes]) }
        let level = depth - scopes + 1
        guard (level == depth ? scope : scope.outer[level]).isIteration else {
            throw SourceError(
                "[[\(steps)]] leads to a try, which has no index; climb one step more or less.",
                at: operation.place)
        }
        return .iteration(level: level == depth ? nil : level)
    }

    /// The segments before the first one that is not constant.
    private static func known(
        _ segments: [ExpressionNode], _ operation: Operation
    ) throws(SourceError) -> [String] {
        var known: [String] = []
        for segment in segments {
            guard let constant = segment.constant else { break }
            guard let key = segmentText(constant) else {
                throw SourceError(
                    "A segment of \(operation.name) is a string or an integer, not \(constant.kind).",
                    at: operation.place)
            }
            known.append(key)
        }
        return known
    }

    private static func segmentText(_ constant: JSON) -> String? {
        if case .string(let text) = constant { return text }
        return constant.wholeNumber.map { String($0) }
    }
}
