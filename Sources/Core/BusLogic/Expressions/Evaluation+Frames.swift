import BusJSON

/// Nested scopes: each iteration, and each later value of `try`, has data of its own.
extension Evaluation {
    /// The data of a scope while an inner one is evaluated.
    struct Frame {
        let element: JSON
        let accumulator: JSON
        let index: Int
    }

    /// A part of an expression with data of its own.
    struct Body: Sendable {
        let node: ExpressionNode
        /// Whether something in it reads the data around it, which is kept for that.
        let climbs: Bool
    }

    /// Enters a scope, and returns the data that `leave` puts back.
    mutating func enter(_ body: Body) -> Frame {
        let outer = Frame(element: element, accumulator: accumulator, index: index)
        if body.climbs { frames.append(outer) }
        return outer
    }

    mutating func leave(_ body: Body, to outer: Frame) {
        element = outer.element
        accumulator = outer.accumulator
        index = outer.index
        if body.climbs { frames.removeLast() }
    }

    /// Goes to an element of the iteration; takes an operation.
    @inline(__always)
    mutating func visit(_ element: JSON, at index: Int) throws(EvaluationFailure) {
        try spend()
        self.element = element
        self.index = index
    }
}
