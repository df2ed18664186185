import BusJSON

/// The parts of a state that a subscription wants: the state with all else left out, parents kept. A pointer
/// into an array selects the array.
package final class Selection: Sendable {
    /// One step of the pointers, as a tree. It is as deep as states may nest, so nothing that goes down it needs a
    /// bound of its own.
    private final class Node: Sendable {
        let key: String
        /// A pointer ends here: everything below is selected.
        let whole: Bool
        /// Ascending by the bytes of their keys.
        let children: [Node]

        /// `pointers` are in order and lead to this node with their first `depth` tokens.
        init(key: String, _ pointers: ArraySlice<[String]>, depth: Int) {
            self.key = key
            whole = pointers.contains { $0.count == depth }
            var children: [Node] = []
            if !whole, depth < JSON.deepestState {
                var rest = pointers
                while let first = rest.first?[depth] {
                    let group = rest.prefix { UTF8Order.equal($0[depth], first) }
                    children.append(Node(key: first, group, depth: depth + 1))
                    rest = rest.dropFirst(group.count)
                }
            }
            self.children = children
        }

        func child(_ key: String) -> Node? { children.first { UTF8Order.equal($0.key, key) } }
    }

    private let root: Node

    /// The canonical list of pointers, by which equal selections are recognised: in order, none twice.
    package let pointers: [[String]]

    /// Takes pointers as their tokens; an empty list selects nothing but the empty object. No state nests as deeply as
    /// a pointer may be long, so what is behind that depth is not looked at.
    package init(_ pointers: [[String]]) {
        var ordered: [[String]] = []
        for pointer in pointers.sorted(by: { Self.order($0, $1) < 0 }) {
            if ordered.last.map({ Self.order($0, pointer) }) != 0 { ordered.append(pointer) }
        }
        self.pointers = ordered
        root = Node(key: "", ordered[...], depth: 0)
    }

    /// Token by token, each by its bytes.
    private static func order(_ one: [String], _ other: [String]) -> Int {
        for index in 0..<min(one.count, other.count) {
            let order = UTF8Order.compare(one[index], other[index])
            if order != 0 { return order }
        }
        return one.count - other.count
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
