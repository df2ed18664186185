import BusJSON

/// Sorting. The order is the same on every machine, and every comparison counts as an operation.
extension Evaluation {
    /// The value of the expression for each element; without an expression, the elements themselves.
    mutating func keys(of elements: [JSON], by body: Body?) throws(EvaluationFailure) -> [JSON] {
        guard let body else { return elements }
        let outer = enter(body)
        defer { leave(body, to: outer) }
        var keys: [JSON] = []
        keys.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            try visit(element, at: index)
            keys.append(try body.node.value(&self))
        }
        return keys
    }

    /// The elements in the order of their keys. No key may be an array or an object.
    mutating func sorted(
        _ elements: [JSON], by keys: [JSON], descending: Bool
    ) throws(EvaluationFailure) -> JSON {
        let order = try order(of: keys, descending: descending)
        for _ in order { try keepElement() }
        return .array(order.map { elements[$0] })
    }

    /// The indices of the keys in the order of the keys; equal keys stay in place. No key may be an array or an object. Runs of
    /// one are merged into runs of two, these into runs of four, and so on.
    mutating func order(of keys: [JSON], descending: Bool) throws(EvaluationFailure) -> [Int] {
        var order = Array(keys.indices)
        var merged = order
        var length = 1
        while length < order.count {
            var start = 0
            while start < order.count {
                let middle = min(start + length, order.count)
                let end = min(middle + length, order.count)
                var (left, right) = (start, middle)
                for place in start..<end {
                    var takesLeft = left < middle
                    if takesLeft, right < end {
                        let comparison = try compare(keys[order[left]], keys[order[right]])
                        takesLeft = descending ? comparison >= 0 : comparison <= 0
                    }
                    merged[place] = order[takesLeft ? left : right]
                    if takesLeft { left += 1 } else { right += 1 }
                }
                start = end
            }
            swap(&order, &merged)
            length *= 2
        }
        return order
    }

    /// Negative, zero or positive. Null comes first, then booleans, numbers and texts.
    private mutating func compare(_ left: JSON, _ right: JSON) throws(EvaluationFailure) -> Int {
        try spend()
        if case .string(let a) = left, case .string(let b) = right { return try order(a, b) }
        let (rank, otherRank) = (Self.rank(left), Self.rank(right))
        guard rank == otherRank, let a = left.scalarNumber, let b = right.scalarNumber else {
            return rank - otherRank
        }
        return a.compared(to: b)
    }

    private static func rank(_ value: JSON) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .double: 2
        default: 3
        }
    }
}
