import BusJSON
import BusMachine
import BusProtocol

/// One thing that a commit did. This is the one place that defines which stores a commit concerns, and by which terms it is
/// found.
struct CommitStep {
    enum Target {
        case store(String)
        /// All stores of a type, or the type itself.
        case type(String)
        /// All stores of all types that have the action.
        case every
    }

    let target: Target
    /// An action's name, or `create`, `drop`, `revert`, `reload`, `schedule`, `cancel`, `timer`.
    let name: String
    let payload: JSONObject

    /// What an entry of the log did.
    static func all(in entry: JSONObject) -> [CommitStep] {
        var steps: [CommitStep] = []
        func add(_ target: Target?, _ name: String, _ payload: JSON? = nil) {
            guard let target else { return }
            steps.append(CommitStep(target: target, name: name, payload: payload?.object ?? [:]))
        }
        let actions = entry["actions"]?.array ?? []
        for action in actions { add(target(of: action), action["action"]?.string ?? "", action["payload"]) }
        // Most commits are nothing else.
        if entry.members.count <= 4 { return steps }
        for member in entry["created"]?.object?.members ?? [] {
            add(.store(member.key), "create", member.value)
        }
        for address in entry["dropped"]?.array ?? [] { add(.store(address.string ?? ""), "drop") }
        for step in entry["steps"]?.array ?? [] {
            // What was created and dropped again stands in neither list.
            guard let store = step["store"]?.string, let name = step["op"]?.string else { continue }
            if name == "create" ? entry["created"]?[store] == nil : true {
                add(.store(store), name, step["state"])
            }
        }
        for (member, name) in [("scheduled", "schedule"), ("cancelled", "cancel")] {
            if let timer = entry[member] { add(target(of: timer), name, timer["payload"]) }
        }
        if let timer = entry["fired"], actions.isEmpty { add(target(of: timer), "timer") }
        let defined = (entry["definitions"]?.array ?? []).compactMap { $0["type"]?.string }
        for type in defined + (entry["undefined"]?.array ?? []).compactMap(\.string) {
            add(.type(type), "reload")
        }
        let isRevert = entry["reverted"] != nil
        for member in entry["states"]?.object?.members ?? [] {
            // A redefinition concerns all stores of its type, so they are not listed.
            if isRevert || !defined.contains(String(member.key.prefix { $0 != "/" })) {
                add(.store(member.key), isRevert ? "revert" : "reload")
            }
        }
        return steps
    }

    private static func target(of action: JSON) -> Target? {
        if let store = action["store"]?.string { return .store(store) }
        guard let type = action["type"]?.string else { return nil }
        return type == "*" ? .every : .type(type)
    }

    /// Whether it concerns a type or a store: it is addressed to it, to its type, or to every type that has the action. What
    /// concerns a source of a view concerns the view.
    func concerns(_ subject: HistorySubject) -> Bool {
        if subject.sources.contains(where: concerns) { return true }
        switch target {
        case .store(let address):
            return subject.store.map { $0 == address } ?? (Self.type(of: address) == subject.type)
        case .type(let type): return type == subject.type
        case .every: return subject.actions?.contains(name) ?? true
        }
    }

    private static func type(of address: String) -> String { String(address.prefix { $0 != "/" }) }

    // MARK: - By which names it is found

    /// Calls `body` with each term by which an entry can be looked up. An entry that a query should find must have all terms
    /// that the query asks for.
    static func forEachTerm(of entry: JSONObject, _ body: (IndexTerm) -> Void) {
        for name in entry["by"]?.authorNames ?? [] { body(.by(name)) }
        for step in all(in: entry) {
            body(.action(step.name))
            switch step.target {
            case .store(let address):
                body(.target(address))
                body(.type(type(of: address)))
            case .type(let type):
                body(.target(type))
                body(.type(type))
            case .every: body(.target("*"))
            }
            for member in step.payload.members {
                if let key = key(member.value) { body(.payload(member.key, key)) }
            }
        }
    }

    /// The query for all commits that concern a type or a store; it may find others, too.
    static func lookUp(_ subject: HistorySubject) -> IndexQuery {
        let own: [IndexQuery] =
            if let store = subject.store { [.term(.target(store)), .term(.target(subject.type))] } else {
                [.term(.type(subject.type))]
            }
        return .any(own + [.term(.target("*"))] + subject.sources.map(lookUp))
    }

    /// A value as it is written in a path; nil if it can't stand in one, or is not indexed.
    private static func key(_ value: JSON) -> String? {
        switch value {
        case .string(let text): IndexTerm.takes(text) ? text : nil
        case .int(let number): 0...IndexTerm.highest ~= number ? String(number) : nil
        default: nil
        }
    }
}
