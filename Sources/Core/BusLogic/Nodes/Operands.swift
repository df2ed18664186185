/// The operands of an operation, which holds them for good: going through them counts no reference.
struct Operands: Sendable {
    let nodes: [ExpressionNode]
    private let places: [Unmanaged<ExpressionNode>]

    init(_ nodes: [ExpressionNode]) {
        self.nodes = nodes
        places = nodes.map { .passUnretained($0) }
    }

    @inline(__always) var count: Int { places.count }
    @inline(__always) var indices: Range<Int> { 0..<places.count }

    /// An operand to call.
    @inline(__always)
    subscript(index: Int) -> HeldNode { HeldNode(places[index]) }
}

/// A node that somebody else holds while it is called.
struct HeldNode {
    private let node: Unmanaged<ExpressionNode>

    @inline(__always)
    init(_ node: Unmanaged<ExpressionNode>) { self.node = node }

    @inline(__always)
    func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        var failure: EvaluationFailure?
        let scalar = node._withUnsafeGuaranteedRef { node in
            do throws(EvaluationFailure) {
                return try node.scalar(&evaluation)
            } catch {
                failure = error
                return .null
            }
        }
        if let failure { throw failure }
        return scalar
    }

    @inline(__always)
    func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        var failure: EvaluationFailure?
        let truth = node._withUnsafeGuaranteedRef { node in
            do throws(EvaluationFailure) {
                return try node.truth(&evaluation)
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return truth
    }
}
