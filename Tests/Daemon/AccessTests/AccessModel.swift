import BusJSON
import TestSupport

/// The rules once more, as slowly and obviously as they can be said: what the bus is compared with.
struct AccessModel {
    struct Rule {
        var role: String
        var may: Set<String>
        var match: [String]
        var actions: [String]?
        /// The state's count must be below this.
        var below: Int?
        var select: [String]?

        var yaml: String {
            var members = ["role: \(role)", "may: [\(may.sorted().joined(separator: ", "))]"]
            members.append("match: [\(match.map { "\"\($0)\"" }.joined(separator: ", "))]")
            if let actions { members.append("actions: [\(actions.joined(separator: ", "))]") }
            if let below { members.append("if: { \"<\": [{ var: state.count }, \(below)] }") }
            if let select { members.append("select: [\(select.joined(separator: ", "))]") }
            return "{ \(members.joined(separator: ", ")) }"
        }

        func allows(_ word: String) -> Bool { may.contains(word) || may.contains("all") }
    }

    var rules: [Rule] = []

    static let roles = [1001: ["one"], 1002: ["two"], 1003: ["one", "two"], 1004: []]

    var yaml: String {
        """
        roles: { admin: [{ uid: 0 }], one: [{ uid: 1001 }, { uid: 1003 }], two: [{ uid: 1002 }, { uid: 1003 }] }
        rules:
          - { role: admin, may: all }
        \(rules.map { "  - \($0.yaml)" }.joined(separator: "\n"))
        """
    }

    init(_ random: inout SeededGenerator) {
        let patterns = ["a/*", "b/*", "*/*", "a/x1", "a/x*", "*/y?", "b/x2", "?/x1", "a/y1"]
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            var rule = Rule(
                role: ["one", "two"].randomElement(using: &random)!, may: [],
                match: (0..<Int.random(in: 1...2, using: &random)).map { _ in
                    patterns.randomElement(using: &random)!
                })
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                rule.may.insert(
                    ["read", "dispatch", "create", "drop", "history", "all"].randomElement(using: &random)!)
            }
            // Without a dispatch, some members mean nothing.
            if rule.allows("dispatch") {
                if Bool.random(using: &random) {
                    rule.actions = [["add", "put"].randomElement(using: &random)!]
                }
                if Int.random(in: 0..<3, using: &random) == 0 {
                    rule.below = Int.random(in: 1...4, using: &random)
                }
            }
            if rule.allows("read"), Int.random(in: 0..<3, using: &random) == 0 {
                rule.select = [["/count"], ["/text"], ["/text", "/deep/one"]].randomElement(using: &random)!
            }
            rules.append(rule)
        }
    }

    // MARK: Judging

    private func rules(of uid: Int) -> [Rule] {
        rules.filter { Self.roles[uid, default: []].contains($0.role) }
    }

    /// Whether a pattern matches an address, letter by letter.
    static func matches(_ pattern: Substring, _ text: Substring) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), text)
                || text.first.map { $0 != "/" } == true && matches(pattern, text.dropFirst())
        }
        guard let letter = text.first, first == letter || first == "?" && letter != "/" else { return false }
        return matches(pattern.dropFirst(), text.dropFirst())
    }

    private func covers(_ rule: Rule, _ store: String) -> Bool {
        rule.match.contains { Self.matches($0[...], store[...]) }
    }

    private func coversAll(_ rule: Rule, _ type: String) -> Bool {
        rule.match.contains { pattern in
            let halves = pattern.split(separator: "/")
            return halves[1] == "*" && Self.matches(halves[0], type[...])
        }
    }

    /// Whether an action may be dispatched to a store, or to all of a type, given the counts of those stores.
    func mayDispatch(_ uid: Int, _ action: String, store: String, count: Int?) -> Bool {
        rules(of: uid).contains {
            $0.allows("dispatch") && covers($0, store) && $0.actions?.contains(action) ?? true
                && (count == nil || count! < $0.below ?? .max)
        }
    }

    func mayDispatch(_ uid: Int, _ action: String, type: String, counts: [Int]) -> Bool {
        let sufficient = rules(of: uid).filter {
            $0.allows("dispatch") && coversAll($0, type) && $0.actions?.contains(action) ?? true
        }
        return !sufficient.isEmpty
            && counts.allSatisfy { count in sufficient.contains { count < $0.below ?? .max } }
    }

    func may(_ uid: Int, _ word: String, _ store: String) -> Bool {
        rules(of: uid).contains { $0.allows(word) && covers($0, store) }
    }

    func mayDropAll(_ uid: Int, of type: String) -> Bool {
        rules(of: uid).contains { $0.allows("drop") && coversAll($0, type) }
    }

    /// Whether the count of all stores of a type is shown.
    func showsCounts(_ uid: Int, ofAll type: String) -> Bool {
        rules(of: uid).contains {
            $0.allows("read") && coversAll($0, type) && $0.select?.contains("/count") ?? true
        }
    }

    func mayCreate(_ uid: Int, _ store: String, count: Int) -> Bool {
        rules(of: uid).contains { $0.allows("create") && covers($0, store) && count < $0.below ?? .max }
    }

    /// What is shown of a store; nil: nothing.
    func shown(_ uid: Int, _ store: String, _ state: JSONObject) -> JSONObject? {
        let readers = rules(of: uid).filter { $0.allows("read") && covers($0, store) }
        if readers.isEmpty { return nil }
        if readers.contains(where: { $0.select == nil }) { return state }
        var shown = JSONObject()
        for pointer in Set(readers.flatMap { $0.select ?? [] }) {
            if pointer == "/deep/one" {
                guard let one = state["deep"]?["one"] else { continue }
                shown["deep"] = ["one": one]
            } else {
                let name = String(pointer.dropFirst())
                shown[name] = state[name]
            }
        }
        return shown
    }

    /// Whether the actions on a store are shown.
    func knows(_ uid: Int, _ store: String) -> Bool {
        rules(of: uid).contains { covers($0, store) && $0.allows("history") && $0.select == nil }
    }
}
