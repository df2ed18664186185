import BusJSON
import TestSupport

/// Random writes: those of each kind, patches, and what `each` repeats.
struct RandomWrites {
    var expressions: RandomExpressions
    let hasSchema: Bool
    /// How many rounds of `each` they are in.
    var depthOfEach = 0

    /// Adds writes to an action.
    func add(_ count: Int, to action: inout JSONObject, _ random: inout SeededGenerator) {
        for _ in 0..<count {
            let (kind, path, value) = write(&random)
            if let value {
                var steps = action[kind]?.object ?? [:]
                steps[path] = value
                action[kind] = .object(steps)
            } else {
                let steps = action[kind]?.array ?? []
                if !steps.contains(.string(path)) { action[kind] = .array(steps + [.string(path)]) }
            }
        }
    }

    /// A name of one of these kinds, for a part of a path, or a member of the payload.
    private func key(of kinds: [String], or payload: String, _ random: inout SeededGenerator) -> String {
        let names = kinds.flatMap { expressions.named[$0] ?? [] }
        return random.oneIn(depthOfEach > 0 ? 5 : 2)
            ? payload : names.randomElement(using: &random) ?? payload
    }

    /// One write: its kind, its path, and the rule of its value where it has one.
    private func write(_ random: inout SeededGenerator) -> (String, String, JSON?) {
        let members = expressions.members
        let kind = members.keys.sorted().randomElement(using: &random)!
        let member = members[kind]!.randomElement(using: &random)!
        let depth = Int.random(in: 0...2, using: &random)
        let index = key(of: ["integer"], or: "payload.x", &random)
        let key = key(of: ["text", "integer"], or: "payload.k", &random)
        switch (kind, Int.random(in: 0..<6, using: &random)) {
        case ("integer", 0...2): return ("increment", member, integer(depth, &random))
        case ("integer", _): return ("set", member, integer(depth, &random))
        case ("number", 0...1): return ("increment", member, expressions.number(depth, &random))
        case ("number", _): return ("set", member, expressions.number(depth, &random))
        case ("text", _): return ("set", member, expressions.text(depth, &random))
        case ("boolean", 0...2): return ("toggle", member, nil)
        case ("boolean", _): return ("set", member, ["!!": [expressions.integer(depth, &random)]])
        case ("list", 0...1) where depthOfEach < 2:
            return ("append", member, expressions.integer(depth, &random))
        case ("list", 2): return ("remove", member, expressions.integer(depth, &random))
        case ("list", 3):
            return ("set", "\(member).{\(index)}", expressions.integer(depth, &random))
        case ("list", 4):
            return ("unset", "\(member).{\(index)}", nil)
        case ("list", _): return ("set", member, expressions.list(depth, &random))
        case ("map", 0...1):
            return ("set", "\(member).{\(key)}", integer(depth, &random))
        case ("map", 2):
            return ("unset", "\(member).{\(key)}", nil)
        case ("map", 3):
            return ("increment", "\(member).{\(key)}", integer(depth, &random))
        case ("map", _):
            return ("merge", member, ["var": "payload.o"])
        case ("record", 0): return ("set", "\(member).p", expressions.integer(depth, &random))
        case ("record", 1): return ("set", "\(member).q", expressions.text(depth, &random))
        case ("record", 2): return ("unset", "\(member).q", nil)
        case ("record", _):
            return (
                "set", member, ["p": expressions.integer(depth, &random), "q": expressions.text(0, &random)]
            )
        case (_, 0) where !hasSchema: return ("unset", member, nil)
        case (_, 1) where !hasSchema:
            return ("set", "{\(key)}", expressions.any(depth, &random))
        default: return ("set", member, expressions.any(depth, &random))
        }
    }

    // MARK: patch

    /// A map of members, or such maps by the path of an object.
    func patch(_ random: inout SeededGenerator) -> JSON {
        let given: JSON = ["var": "payload.o"]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return given
        case 1...3:
            var members = JSONObject()
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let kind = expressions.members.keys.sorted().randomElement(using: &random)!
                members[expressions.members[kind]!.randomElement(using: &random)!] = value(kind, &random)
            }
            return ["object": .object(members)]
        default:
            var paths: JSONObject = [:]
            for kind in ["map", "map", "record", "any", "list"] where random.oneIn(2) {
                guard let path = expressions.members[kind]?.randomElement(using: &random) else { continue }
                paths[path] = kind == "record" && !random.oneIn(4) ? value(kind, &random) : given
            }
            return paths.isEmpty ? given : .object(paths)
        }
    }

    private func value(_ kind: String, _ random: inout SeededGenerator) -> JSON {
        switch kind {
        case "integer": integer(1, &random)
        case "number": expressions.number(1, &random)
        case "text": expressions.text(1, &random)
        case "boolean": ["!!": [expressions.integer(1, &random)]]
        case "list": expressions.list(1, &random)
        case "map": ["var": "payload.o"]
        case "record": ["object": ["p": integer(1, &random), "q": expressions.text(0, &random)]]
        default: expressions.any(1, &random)
        }
    }

    // MARK: each

    /// What repeats writes, perhaps in one another or one after the other.
    func each(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        let first = repetition(depth, &random)
        return random.oneIn(4) ? [first, repetition(depth, &random)] : first
    }

    private func repetition(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        let (range, key, value) = range(&random)
        let names = ["\(key.first!)\(depth)", "e\(depth)"]
        var inner = self
        inner.depthOfEach = depth
        var repetition: JSONObject = ["in": range]
        if random.oneIn(2) {
            repetition["as"] = .array(names.map(JSON.string))
            inner.expressions.named[key, default: []].append(names[0])
            inner.expressions.named[value, default: []].append(names[1])
        } else {
            // Of a map, one name is that of the keys.
            repetition["as"] = .string(names[1])
            inner.expressions.named[key == "text" ? key : value, default: []].append(names[1])
        }
        inner.add(Int.random(in: 1...2, using: &random), to: &repetition, &random)
        if random.oneIn(6) { repetition["patch"] = inner.patch(&random) }
        if depth < 2, random.oneIn(4) { repetition["each"] = inner.each(depth + 1, &random) }
        return .object(repetition)
    }

    /// A short list or a map, with the kinds of its keys and values.
    private func range(_ random: inout SeededGenerator) -> (JSON, key: String, value: String) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return (["var": "payload.l"], "integer", "integer")
        case 1: return (["var": "payload.o"], "text", "integer")
        case 2...3:
            guard let map = expressions.members["map"]?.first else { break }
            return (["var": .string("state.\(map)")], "text", "integer")
        case 4:
            guard let record = expressions.members["record"]?.first else { break }
            return (["var": .string("state.\(record)")], "text", "any")
        case 5:
            guard random.oneIn(3), let any = expressions.members["any"]?.first else { break }
            return (["var": .string("state.\(any)")], "integer", "any")
        default: break
        }
        let isEarly: JSON = ["<": [["val": [[1], "index"]], 3]]
        return (["filter": [expressions.list(1, &random), isEarly]], "integer", "integer")
    }

    /// An integer to be written. One that is constant and outside of every schema is added to something that is read: definitions
    /// that write what never fits are refused.
    private func integer(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        let rule = expressions.integer(depth, &random)
        let names = ModelExpression.Names(rules: expressions.names)
        guard let whole = (try? ModelExpression.evaluate(rule, on: .null, names))?.int, !(-50...90 ~= whole)
        else { return rule }
        return ["+": [rule, ["*": [["var": "state.n"], 0]]]]
    }
}
