import BusJSON

/// Turns a whole state into another one, for mutations that are written in Swift and return the new state.
extension Draft {
    /// Writes the difference between the state and `new`: afterwards they are equal, and the undo log holds every place
    /// that differs and nothing else.
    ///
    /// Objects are compared member by member, down to what differs in them; an array that only grew is appended to,
    /// any other change of one replaces it. The cost grows with both states, not with the difference.
    package mutating func become(_ new: JSONObject) {
        // Planned first: a write happens in place only when nothing else holds the state.
        for step in Self.steps(from: current, to: new) {
            do throws(WriteFailure) {
                switch step.change {
                case .set(let value): try set(step.path, to: value)
                case .unset: try unset(step.path)
                case .append(let elements): for element in elements { try append(step.path, element) }
                }
            } catch {
                preconditionFailure("A difference between two states leads to a place that is not there.")
            }
        }
    }

    private struct Step {
        enum Change {
            case set(JSON)
            case unset
            case append(ArraySlice<JSON>)
        }

        let path: StatePath
        let change: Change
    }

    /// Members are kept in order, so adding or removing many, one by one, would move the rest as often. From this
    /// number on an object inside a state is replaced as a whole.
    private static let writtenOneByOne = 256

    private static func steps(from old: JSONObject, to new: JSONObject) -> [Step] {
        var steps: [Step] = []
        plan(from: old, to: new, at: [], into: &steps)
        return steps
    }

    /// Walks both objects side by side, in the order of their keys. Recursion is bounded by the depth of states.
    private static func plan(
        from old: JSONObject, to new: JSONObject, at path: [String], into steps: inout [Step]
    ) {
        let mark = steps.count
        var moved = 0
        let (left, right) = (old.members, new.members)
        var (before, after) = (0, 0)
        while before < left.count || after < right.count {
            if after == right.count
                || before < left.count && UTF8Order.precedes(left[before].key, right[after].key)
            {
                steps.append(Step(path: StatePath(path + [left[before].key], hint: before), change: .unset))
                before += 1
                moved += 1
            } else if before == left.count || UTF8Order.precedes(right[after].key, left[before].key) {
                let place = StatePath(path + [right[after].key])
                steps.append(Step(path: place, change: .set(right[after].value)))
                after += 1
                moved += 1
            } else {
                let place = StatePath(path + [left[before].key], hint: path.isEmpty ? before : 0)
                plan(from: left[before].value, to: right[after].value, at: place, into: &steps)
                before += 1
                after += 1
            }
        }
        if moved > writtenOneByOne, !path.isEmpty {
            steps.removeSubrange(mark...)
            steps.append(Step(path: StatePath(path), change: .set(.object(new))))
        }
    }

    private static func plan(
        from old: JSON, to new: JSON, at place: StatePath, into steps: inout [Step]
    ) {
        switch (old, new) {
        case (.object(let before), .object(let after)):
            plan(from: before, to: after, at: place.segments, into: &steps)
        case (.array(let before), .array(let after))
        where before.count < after.count && before[...] == after[..<before.count]:
            steps.append(Step(path: place, change: .append(after[before.count...])))
        default:
            if old != new { steps.append(Step(path: place, change: .set(new))) }
        }
    }
}
