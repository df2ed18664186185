import BusJSON

/// Selects commits, beside the filters of the bus itself.
package struct CommitFilter {
    /// The principal: a user's name, a uid, a pid, a token's name, `daemon`, or a part of a unit's name.
    package var by: String?
    /// An action's name, or `create`, `drop`, `revert`, `reload`.
    package var action: String?
    private let users: UserNames

    package init(by: String? = nil, action: String? = nil, users: UserNames = .none) {
        self.by = by
        self.action = action
        self.users = users
    }

    package func takes(_ commit: JSON) -> Bool {
        if let action, !CommitText.steps(of: commit).contains(where: { $0.name == action }) { return false }
        if let by { return isBy(by, commit["by"]) }
        return true
    }

    private func isBy(_ text: String, _ by: JSON?) -> Bool {
        guard let by else { return false }
        if by["daemon"]?.bool == true { return text == "daemon" }
        if let unit = by["unit"]?.string, unit.contains(text) { return true }
        if by["user"]?.string == text { return true }
        if let uid = by["uid"]?.int, by["member"] == nil, users.name(of: uid) == text { return true }
        // A number is compared whole: uid 100 is not uid 1000.
        return by["uid"]?.encoded == text || by["pid"]?.encoded == text || by["token"]?.string == text
    }
}
