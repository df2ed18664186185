import BusJSON

/// What is known, when an expression is compiled, about the data it will see.
struct ExpressionScope {
    /// What the first segment of a path leads into.
    let data: DataScope
    /// The members that states start with: where a key probably stands.
    var shape = JSONObject()
    /// The declared payload members, ascending, of an action.
    var payload: [String] = []
    /// The scopes around this one, outermost first.
    var outer: [ExpressionScope] = []
    /// The values that `each` gives names, outermost first.
    var locals: [TextCompiler.Local] = []
    /// Whether this is the inside of an iteration, which has an index.
    var isIteration = false
    /// Whether it is that of a name of `let`, which calls the state `state` wherever it is read, and has no payload.
    var isNamed = false
    /// What expressions in text call the data of a free-standing expression.
    var names = Expression.Names.members

    /// The types whose stores may be read.
    var waitFor: [String] { if case .action(let waitFor) = data { waitFor } else { [] } }
    var isAction: Bool { if case .action = data { true } else { false } }
    var isState: Bool { if case .state = data { true } else { false } }
    /// Whether its data is the state of a store that a client's expression is about.
    var isStore: Bool {
        if case .element = data, case .store = names { outer.isEmpty } else { false }
    }
    /// Whether its data is the same in every scope inside it.
    var isOutermost: Bool {
        switch data {
        case .action, .state, .migration: true;
        default: false
        }
    }

    /// The scope of a free-standing expression.
    static let freeStanding = ExpressionScope(data: .element)

    /// The scope of what has data of its own, seen from here.
    func inside(_ data: DataScope, isIteration: Bool) -> ExpressionScope {
        ExpressionScope(data: data, outer: outer + [self], isIteration: isIteration)
    }

    /// The first segments that paths may have in an action.
    static let actionNames = ["state", "payload", "store", "meta", "stores"]
}

/// Which members of the state an expression reads.
package struct StateReads: Sendable {
    package private(set) var names: [String] = []
    /// It may read any: a path is computed, or the whole state is looked at.
    package internal(set) var everything = false
    /// Of a client's expression: it may read the store's address, or the time and the revision.
    package internal(set) var (address, meta) = (false, false)

    init(_ names: [String] = []) { self.names = names }

    /// Names are compared by their bytes, as everywhere on the bus.
    package func contains(_ name: String) -> Bool { names.contains { UTF8Order.equal($0, name) } }

    mutating func insert(_ name: String) {
        if !contains(name) { names.append(name) }
    }

    mutating func formUnion(_ other: StateReads) {
        for name in other.names { insert(name) }
        if other.everything { everything = true }
    }

    /// A client's expression reads a place of what it knows: `state` is the whole state, and members have their own names.
    mutating func insert(_ keys: [String]) {
        switch keys.first {
        case nil: everything = true
        case "state"?:
            insert("state")
            if keys.count > 1 { insert(keys[1]) } else { everything = true }
        case let root?:
            insert(root)
            if root == Evaluation.namesOfStore[0] { address = true }
            if root == Evaluation.namesOfStore[1] { meta = true }
        }
    }
}
