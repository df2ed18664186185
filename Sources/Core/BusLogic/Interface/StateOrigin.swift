import BusJSON

/// Where a state comes from that a type is to take over: it decides which of its members are taken, and which of those
/// that it lacks begin as `initial` says.
package enum StateOrigin: Sendable {
    /// A client says how a store begins. What it leaves out begins as `initial` says.
    case request
    /// A store has it, or had it. Of the members that its own definition names, `unset` are those that an action has taken
    /// away: they stay away. `made` are those that its definition does not name, because an action has made them by a
    /// name from its payload: they stay.
    case store(unset: [String], made: JSONObject)
    /// Either of them, by the first rules of a shared bus: every member that `initial` has is there, and there are no
    /// others.
    case firstRules
}

/// The members that a definition names, besides those that it computes.
package struct NamedMembers: Sendable, Equatable {
    /// Their values mean nothing.
    private let members: JSONObject
    /// Whether states have no others: the definition has `state`.
    package let areAll: Bool

    /// Those of a definition as `types` shows it.
    package init(of definition: JSON) {
        var members = definition["initial"]?.object ?? [:]
        let state = definition["state"]?.object
        for name in state?.keys ?? [] { members[name] = .null }
        self.members = members
        areAll = state != nil
    }

    package init(_ names: [String], areAll: Bool) {
        var members = JSONObject()
        for name in names { members[name] = .null }
        self.members = members
        self.areAll = areAll
    }

    package var names: [String] { members.keys }

    /// What a state is to a type with another definition, if this is that of its own.
    ///
    /// - Parameter next: What the other definition names. Where that says that there are no others, as this one does
    ///   not, no other member stays.
    package func origin(of state: JSONObject, under next: NamedMembers) -> StateOrigin {
        let others = next.areAll && !areAll ? [] : state.members.filter { members.index(of: $0.key) == nil }
        return .store(
            unset: members.keys.filter { state.index(of: $0) == nil }, made: JSONObject(sorted: others))
    }
}
