import BusJSON

/// What an action of a commit returns, beside what was asked: `result` of one store, `results` by address of several.
package enum ReturnedMember: String, CaseIterable {
    case result, results
}

extension JSON {
    /// An action of a commit as a request has it: without what it returns, and without its index.
    package var asRequested: JSON {
        guard var action = withoutIndex.object else { return self }
        for member in ReturnedMember.allCases { action[member.rawValue] = nil }
        return .object(action)
    }

    /// An action of a commit without the `index` that it has where the log does not have all of its batch.
    package var withoutIndex: JSON {
        guard var action = object, action["index"] != nil else { return self }
        action["index"] = nil
        return .object(action)
    }

    /// The actions of a commit, each with its index in its batch.
    package var indexedActions: [(index: Int, action: JSON)] {
        (self["actions"]?.array ?? []).enumerated().map { ($1["index"]?.int ?? $0, $1) }
    }
}
