import BusJSON

/// The parts of a state that a subscription wants: the state with all else left out, parents kept. A pointer
/// into an array selects the array.
package final class Selection: Sendable {
    /// One step of the pointers, as a tree.
    private final class Node: Sendable {
        let key: String
        /// A pointer ends here: everything below is selected.
        let whole: Bool
        let children: [Node]

        init(key: String, pointers: [ArraySlice<String>]) {
            self.key = key
            whole = pointers.contains(where: \.isEmpty)
            var children: [Node] = []
            if !whole {
                let sorted = pointers.sorted { UTF8Order.precedes($0.first!, $1.first!) }
                var rest = sorted[...]
                while let first = rest.first?.first {
                    let group = rest.prefix { UTF8Order.equal($0.first!, first) }
                    children.append(Node(key: first, pointers: group.map { $0.dropFirst() }))
                    rest = rest.dropFirst(group.count)
                }
            }
            self.children = children
        }

        func child(_ key: String) -> Node? { children.first { UTF8Order.equal($0.key, key) } }
    }

    private let root: Node

    /// The canonical list of pointers, by which equal selections are recognised.
    package let pointers: [[String]]

    /// Takes pointers as their tokens; an empty list selects nothing but the empty object.
    package init(_ pointers: [[String]]) {
        self.pointers = pointers.sorted { left, right in
            for (a, b) in zip(left, right) where !UTF8Order.equal(a, b) { return UTF8Order.precedes(a, b) }
            return left.count < right.count
        }
        root = Node(key: "", pointers: pointers.map { $0[...] })
    }

    /// What both select: of two pointers, one of which leads into the other, the longer one.
    package func intersection(_ other: Selection) -> Selection {
        var common: [[String]] = []
        for one in pointers {
            for other in other.pointers
            where zip(one, other).allSatisfy({ UTF8Order.equal($0, $1) }) {
                common.append(one.count < other.count ? other : one)
            }
        }
        return Selection(common)
    }

    /// The selected part of a whole state.
    package func project(_ state: JSONObject) -> JSONObject {
        root.whole ? state : Self.project(state, root)
    }

    private static func project(_ object: JSONObject, _ node: Node) -> JSONObject {
        JSONObject(
            sorted: node.children.compactMap { child in
                guard let value = object[child.key], let part = project(value, child) else { return nil }
                return JSONObject.Member(key: child.key, value: part)
            })
    }

    private static func project(_ value: JSON, _ node: Node) -> JSON? {
        if node.whole { return value }
        return switch value {
        case .object(let object): .object(project(object, node))
        case .array: value
        default: nil
        }
    }

    /// Appends what is left of `entries` when only the selected parts count. `state` is the state as it is now.
    package func restrict(
        _ entries: DeltaEntries, of state: JSONObject, to kept: borrowing Stack<DeltaEntry>
    ) {
        for entry in entries {
            if let part = restrict(entry, state) { kept.append(part) }
        }
    }

    /// Whether anything is left of `entries` when only the selected parts count.
    package func isTouched(by entries: DeltaEntries, of state: JSONObject) -> Bool {
        entries.contains { restrict($0, state) != nil }
    }

    private func restrict(_ entry: DeltaEntry, _ state: JSONObject) -> DeltaEntry? {
        var node = root
        var value = JSON.object(state)
        for segment in entry.path {
            if node.whole { return entry }
            if case .array = value { return entry }
            guard let child = node.child(segment) else { return nil }
            node = child
            value = value[segment] ?? .null
        }
        if node.whole || entry.appendedFrom != nil { return entry }
        let before = entry.before.flatMap { Self.project($0, node) }
        let after = entry.after.flatMap { Self.project($0, node) }
        return before == after ? nil : DeltaEntry(path: entry.path, before: before, after: after)
    }
}
