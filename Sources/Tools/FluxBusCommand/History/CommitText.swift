import BusJSON

/// A commit of the action log in words. Actions read `TARGET NAME PAYLOAD`, and so do the commits that are no
/// dispatches, by the names of their requests: `create`, `drop`, `revert`, `reload`.
package enum CommitText {
    /// One step of a commit: its target and what was done to it.
    struct Step {
        /// A store, a type or `*`; empty for a reload.
        let target: String
        let name: String
        /// The text after the name, for people; empty where there is none.
        let detail: String

        var text: String {
            [target, name, detail].filter { !$0.isEmpty }.joined(separator: " ")
        }

        /// Whether a store may be concerned: it is the target, or of the target's type.
        func concerns(_ store: String) -> Bool {
            target.isEmpty || target == "*" || target == store || store.hasPrefix(target + "/")
        }
    }

    static func steps(of commit: JSON) -> [Step] {
        var steps = (commit["actions"]?.array ?? []).map { action in
            Step(
                target: action["store"]?.string ?? action["type"]?.string ?? "",
                name: action["action"]?.string ?? "",
                detail: [nonEmpty(action["payload"]), returned(action)].filter { !$0.isEmpty }
                    .joined(separator: " "))
        }
        if let order = commit["steps"]?.array { return inOrder(order, steps, of: commit) }
        for member in commit["created"]?.object ?? [:] {
            let ephemeral = commit["ephemeral"]?.bool == true ? "ephemeral " : ""
            steps.append(
                Step(target: member.key, name: "create", detail: ephemeral + nonEmpty(member.value)))
        }
        for address in commit["dropped"]?.array ?? [] {
            steps.append(Step(target: address.string ?? "", name: "drop", detail: ""))
        }
        steps += timerSteps(of: commit)
        if let reverted = commit["reverted"] {
            let revision = reverted["to"]?.encoded ?? "?"
            steps.append(
                Step(
                    target: reverted["store"]?.string ?? "", name: "revert", detail: "to revision \(revision)"
                ))
        }
        let defined = (commit["definitions"]?.array ?? []).compactMap { $0["type"]?.string }
        let undefined = (commit["undefined"]?.array ?? []).compactMap(\.string)
        if !defined.isEmpty || !undefined.isEmpty {
            let gone = undefined.isEmpty ? [] : ["without " + undefined.joined(separator: ", ")]
            let names = defined.isEmpty ? [] : [defined.joined(separator: ", ")]
            steps.append(
                Step(target: "", name: "reload", detail: (names + gone).joined(separator: " ")))
        }
        return steps
    }

    /// The actions of a batch and the stores that it created and dropped, as they followed one another.
    private static func inOrder(_ order: [JSON], _ actions: [Step], of commit: JSON) -> [Step] {
        var actions = actions[...]
        return order.flatMap { step -> [Step] in
            if let count = step.int {
                defer { actions = actions.dropFirst(count) }
                return Array(actions.prefix(count))
            }
            let store = step["store"]?.string ?? ""
            let ephemeral = step["ephemeral"] == true ? "ephemeral " : ""
            let detail =
                step["op"] == "create" ? ephemeral + nonEmpty(step["state"] ?? commit["created"]?[store]) : ""
            return [Step(target: store, name: step["op"]?.string ?? "", detail: detail)]
        }
    }

    /// What a commit did to timers; one that fired shows its action, unless that was rejected.
    private static func timerSteps(of commit: JSON) -> [Step] {
        var steps: [Step] = []
        func add(_ timer: JSON, _ name: String, _ detail: String) {
            steps.append(
                Step(
                    target: timer["store"]?.string ?? timer["type"]?.string ?? "", name: name,
                    detail: [timer["timer"]?.string ?? "", detail].filter { !$0.isEmpty }.joined(
                        separator: ": ")))
        }
        if let timer = commit["scheduled"] {
            let time = DispatchTimeArgument.text(of: timer["due"] ?? .null)
            let action = [timer["action"]?.string ?? "", nonEmpty(timer["payload"])].filter { !$0.isEmpty }
            add(timer, "schedule", "\(action.joined(separator: " ")) at \(time)")
        }
        if let timer = commit["cancelled"] { add(timer, "cancel", "") }
        if let timer = commit["fired"], commit["actions"]?.array?.isEmpty ?? true {
            add(timer, "timer", "its action was rejected")
        }
        if let advanced = commit["advanced"] {
            steps.append(
                Step(target: "*", name: "advance", detail: "all timers, by \(advanced.encoded) s"))
        }
        return steps
    }

    /// `→ 3`, where an action returned something.
    static func returned(_ action: JSON) -> String {
        (action["result"] ?? action["results"]).map { "→ \($0.encoded)" } ?? ""
    }

    private static func nonEmpty(_ value: JSON?) -> String {
        value?.object.map { $0.isEmpty ? "" : JSON.object($0).encoded } ?? ""
    }

    /// All steps in one line, or those that may concern one store.
    package static func summary(of commit: JSON, concerning store: String? = nil) -> String {
        let steps = steps(of: commit)
        let relevant = store.map { store in steps.filter { $0.concerns(store) } } ?? []
        return (relevant.isEmpty ? steps : relevant).map(\.text).joined(separator: "; ")
    }

    /// The commit as one line for programs: first what every commit has, in the order in which people read it.
    package static func line(of commit: JSON) -> String {
        guard var rest = commit.object else { return commit.encoded }
        var members: [String] = []
        for name in ["revision", "time", "by", "actions"] {
            guard let value = rest[name] else { continue }
            members.append("\"\(name)\":\(value.encoded)")
            rest[name] = nil
        }
        members += rest.map { "\(JSON.string($0.key).encoded):\($0.value.encoded)" }
        return "{" + members.joined(separator: ",") + "}"
    }

    package static func time(of commit: JSON) -> String {
        milliseconds(of: commit).map { ClockText.dateAndTime(milliseconds: $0) } ?? ""
    }

    /// When it was committed, in milliseconds since 1970.
    static func milliseconds(of commit: JSON) -> Int? { ClockText.milliseconds(commit["time"]) }

    package static func identity(of commit: JSON, _ users: UserNames) -> String {
        commit["by"].map(users.identity) ?? ""
    }
}

/// Commits as `log` shows them to people: one line each, in columns that stay where they are while more come.
struct LogText {
    private let style: Style
    private let users: UserNames
    /// The store of which only what concerns it is shown.
    private let store: String?
    private var widths = [8, 23, 0]
    private var hasHeading = false

    /// A longer name does not push the column further.
    private static let widestName = 40

    init(style: Style, users: UserNames, store: String? = nil) {
        self.store = store
        self.style = style
        self.users = users
    }

    /// The lines of some commits that are shown together; before the first ones come the headings.
    mutating func lines(_ commits: [JSON], width: Int?) -> [String] {
        guard !commits.isEmpty else { return [] }
        var rows = commits.map { commit in
            [
                commit["revision"]?.encoded ?? "", CommitText.time(of: commit),
                CommitText.identity(of: commit, users), CommitText.summary(of: commit, concerning: store),
            ].map(ScreenText.safe)
        }
        if !hasHeading { rows.insert(["REVISION", "TIME", "BY", "ACTIONS"], at: 0) }
        for column in widths.indices {
            let widest = rows.map { $0[column].count }.max() ?? 0
            widths[column] = max(widths[column], min(widest, Self.widestName))
        }
        defer { hasHeading = true }
        return rows.enumerated().map { index, row in
            line(row, isHeading: !hasHeading && index == 0, width: width)
        }
    }

    private func line(_ row: [String], isHeading: Bool, width: Int?) -> String {
        let roles: [Style.Role] = isHeading ? [.heading, .heading, .heading] : [.address, .faint, .faint]
        var line = ""
        var used = 0
        for (column, role) in roles.enumerated() {
            let gap = max(0, widths[column] - row[column].count) + 2
            line += style.paint(row[column], role) + String(repeating: " ", count: gap)
            used += row[column].count + gap
        }
        let room = width.map { $0 - used }
        let last = room.map { $0 >= 8 ? ScreenText.cut(row[3], to: $0) : row[3] } ?? row[3]
        return line + (isHeading ? style.paint(last, .heading) : last)
    }
}
