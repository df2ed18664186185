import TestSupport

/// Random access rules for one role, and what they hide.
struct RandomRules {
    struct Rule {
        var may: Set<String>
        let match: [String]
        var actions: [String]?
        var condition: String?
        var select: [String]?

        var yaml: String {
            var members = ["role: guest", "may: [\(may.sorted().joined(separator: ", "))]"]
            members.append("match: [\(match.map { "\"\($0)\"" }.joined(separator: ", "))]")
            if let actions { members.append("actions: [\(actions.joined(separator: ", "))]") }
            if let condition { members.append("if: \(condition)") }
            if let select { members.append("select: [\(select.joined(separator: ", "))]") }
            return "{ \(members.joined(separator: ", ")) }"
        }
    }

    private(set) var rules: [Rule] = []

    /// The uid of who has the role.
    static let guest = 1001

    var yaml: String {
        """
        roles: { admin: [{ uid: 0 }], guest: [{ uid: \(Self.guest) }] }
        rules:
          - { role: admin, may: all }
        \(rules.map { "  - \($0.yaml)" }.joined(separator: "\n"))
        """
    }

    init(_ random: inout SeededGenerator) {
        let patterns = ["a/*", "b/*", "a/v*", "b/v1", "a/h*", "?/v2", "*/v*", "b/v?", "a/v1", "*/*"]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            var rule = Rule(
                may: [],
                match: (0..<Int.random(in: 1...2, using: &random)).map { _ in
                    patterns.dropLast(random.oneIn(3) ? 0 : 1).randomElement(using: &random)!
                })
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                rule.may.insert(
                    ["read", "read", "dispatch", "dispatch", "create", "drop", "revert", "history"]
                        .randomElement(using: &random)!)
            }
            if rule.may.contains("dispatch") {
                if random.oneIn(4) { rule.actions = [["add", "put", "tick"].randomElement(using: &random)!] }
                if random.oneIn(4) { rule.condition = #"{ "!": [{ ">": [{ var: payload.by }, 3] }] }"# }
            }
            if rule.may.contains("read"), random.oneIn(2) {
                rule.select = [["/count"], ["/text"], ["/text", "/deep/one"]].randomElement(using: &random)!
            }
            rules.append(rule)
        }
    }

    /// Whether a rule allows something at an address.
    func allows(_ word: String, _ address: String) -> Bool {
        rules.contains { $0.may.contains(word) && Self.covers($0, address) }
    }

    private static func covers(_ rule: Rule, _ address: String) -> Bool {
        rule.match.contains { Filter.matches(Array($0.utf8)[...], Array(address.utf8)[...]) }
    }

    /// Whether anything of a store is shown: what it is, or what it was.
    func shows(_ address: String) -> Bool { allows("read", address) || allows("history", address) }

    /// Whether the members that no `select` has are shown.
    func showsAll(_ address: String) -> Bool {
        rules.contains {
            !$0.may.isDisjoint(with: ["read", "history"]) && $0.select == nil && Self.covers($0, address)
        }
    }
}
