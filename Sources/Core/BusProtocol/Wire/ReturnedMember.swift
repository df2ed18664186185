import BusJSON

/// What an action of a commit returns, beside what was asked: `result` of one store, `results` by address of several.
package enum ReturnedMember: String, CaseIterable {
    case result, results
}

extension JSON {
    /// An action of a commit as a request has it: without what it returns.
    package var asRequested: JSON {
        guard var action = object else { return self }
        for member in ReturnedMember.allCases { action[member.rawValue] = nil }
        return .object(action)
    }
}
