import BusJSON
import TestSupport

/// Random expressions that mostly succeed: each is made for the kind of value that is wanted.
struct RandomExpressions {
    /// Members of the state by kind, as paths that `var` takes.
    let members: [String: [String]]
    /// Members of the payload by kind.
    var payload: [String: String] = [:]
    /// `state.` in actions, nothing in computed values.
    var prefix = "state."
    /// A store of another type whose `n` may be read.
    var other: String?
    /// Whether they read the time.
    var isTimed = true
    /// Whether they read the state and nothing else.
    var isOfState = false
    /// What `let` and `each` give names, by kind.
    var named: [String: [String]] = [:]
    /// `let`, of which constants are read wherever a number may stand.
    var names: JSONObject = [:]

    init(members: [String: [String]]) { self.members = members }

    /// A read of something of a kind in state or payload.
    private func variable(_ kind: String, _ random: inout SeededGenerator) -> JSON? {
        let given = payload.filter { $0.value == kind }.map(\.key).sorted()
        var choices = (members[kind] ?? []).map { prefix + $0 }
        choices += given.map { "payload." + $0 } + (named[kind] ?? [])
        guard let path = choices.randomElement(using: &random) else { return nil }
        return ["var": .string(path)]
    }

    func integer(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch depth > 0 ? Int.random(in: 0..<14, using: &random) : 20 {
        case 0: return ["+": [integer(depth - 1, &random), integer(depth - 1, &random)]]
        case 1: return ["-": [integer(depth - 1, &random), integer(depth - 1, &random)]]
        case 2: return ["*": [integer(depth - 1, &random), .int(Int.random(in: -3...3, using: &random))]]
        case 3: return ["max": [integer(depth - 1, &random), integer(depth - 1, &random)]]
        case 4: return ["%": [integer(depth - 1, &random), integer(depth - 1, &random)]]
        case 5: return ["length": [list(depth - 1, &random)]]
        case 6: return ["length": [text(depth - 1, &random)]]
        case 7:
            return [
                "if": [
                    condition(depth - 1, &random), integer(depth - 1, &random), integer(depth - 1, &random),
                ]
            ]
        case 8:
            return [
                "reduce": [
                    list(depth - 1, &random), ["+": [["var": "accumulator"], ["var": "current"]]], 0,
                ]
            ]
        case 9: return ["abs": [integer(depth - 1, &random)]]
        case 10: return ["try": [["%": [integer(depth - 1, &random), integer(depth - 1, &random)]], -1]]
        case 11:
            return [
                "if": [
                    ["===": [variable("any", &random) ?? .null, .null]], integer(depth - 1, &random),
                    integer(0, &random),
                ]
            ]
        case 12: return ["length": [["keys": [variable("map", &random) ?? .null]]]]
        case 13:
            guard let other else { break }
            return ["+": [["var": .string("stores.\(other).n")], 1]]
        default: break
        }
        if random.oneIn(3) { return .int(Int.random(in: -9...9, using: &random)) }
        if random.oneIn(10), let constant = names.first(where: { $0.value.int != nil }) {
            return ["var": .string(constant.key)]
        }
        if random.oneIn(40) { return .int(random.oneIn(2) ? .max : .min) }
        if prefix == "state.", !isOfState, random.oneIn(12) { return ["var": "meta.revision"] }
        return variable("integer", &random) ?? .int(Int.random(in: 0...5, using: &random))
    }

    func number(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch depth > 0 ? Int.random(in: 0..<7, using: &random) : 20 {
        case 0: return ["+": [number(depth - 1, &random), number(depth - 1, &random)]]
        case 1: return ["-": [number(depth - 1, &random), number(depth - 1, &random)]]
        case 2: return ["*": [number(depth - 1, &random), 0.5]]
        case 3: return ["/": [number(depth - 1, &random), number(depth - 1, &random)]]
        case 4: return integer(depth - 1, &random)
        case 5: return ["min": [number(depth - 1, &random), 100.25]]
        default: break
        }
        if random.oneIn(3) { return [0.5, -1.25, 2.0, 1e3].randomElement(using: &random).map(JSON.double)! }
        if prefix == "state.", isTimed, !isOfState, random.oneIn(10) { return ["var": "meta.time"] }
        return variable("number", &random) ?? variable("integer", &random) ?? 1.5
    }

    func condition(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 4), using: &random) {
        case 0:
            let sign = ["<", "<=", ">", ">="].randomElement(using: &random)!
            return [sign: [fact("integer", &random), integer(depth - 1, &random)]]
        case 1: return ["==": [fact("text", &random), text(0, &random)]]
        case 2: return ["!!": [fact("any", &random)]]
        case 3: return ["===": [fact("boolean", &random), .bool(random.oneIn(2))]]
        case 4: return ["!": [condition(depth - 1, &random)]]
        case 5: return ["and": [condition(depth - 1, &random), condition(depth - 1, &random)]]
        case 6: return ["or": [condition(depth - 1, &random), condition(depth - 1, &random)]]
        case 7:
            let name = ["all", "some", "none"].randomElement(using: &random)!
            return [
                name: [
                    fact("list", &random),
                    [">": [["var": ""], .int(Int.random(in: -2...4, using: &random))]],
                ]
            ]
        case 8: return ["in": ["a", fact("text", &random)]]
        case 9: return ["in": [integer(0, &random), fact("list", &random)]]
        case 10:
            return [
                "<": [
                    .int(Int.random(in: -9...0, using: &random)), fact("integer", &random),
                    integer(0, &random),
                ]
            ]
        default:
            guard prefix == "state." else { return ["!==": [fact("any", &random), .null]] }
            return ["exists": ["state", .string(members["map"]?.first ?? "n"), "k1"]]
        }
    }

    /// Something that is read, so that no condition is a constant.
    private func fact(_ kind: String, _ random: inout SeededGenerator) -> JSON {
        let number: JSON = ["var": .string(prefix + "n")]
        return variable(kind, &random) ?? (kind == "list" ? [number] : number)
    }

    func text(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch depth > 0 ? Int.random(in: 0..<5, using: &random) : 20 {
        case 0:
            return [
                "substr": [
                    [
                        "cat": [
                            text(depth - 1, &random), integer(depth - 1, &random), text(depth - 1, &random),
                        ]
                    ], 0, 12,
                ]
            ]
        case 1:
            return [
                "if": [condition(depth - 1, &random), text(depth - 1, &random), text(depth - 1, &random)]
            ]
        case 2:
            return [
                "substr": [
                    text(depth - 1, &random), .int(Int.random(in: -3...3, using: &random)),
                    .int(Int.random(in: -2...5, using: &random)),
                ]
            ]
        case 3: return ["substr": [["join": [list(depth - 1, &random), "-"]], 0, 12]]
        case 4: return prefix == "state." && !isOfState ? ["var": "store"] : "x"
        default: break
        }
        if random.oneIn(2), let found = variable("text", &random) { return found }
        return ["", "a", "ab", "zz", "é", "🙂b"].randomElement(using: &random).map(JSON.string)!
    }

    func list(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch depth > 0 ? Int.random(in: 0..<5, using: &random) : 20 {
        case 0:
            return [
                "filter": [
                    list(depth - 1, &random),
                    [">": [["var": ""], .int(Int.random(in: -2...4, using: &random))]],
                ]
            ]
        case 1: return ["map": [list(depth - 1, &random), ["+": [["var": ""], ["val": [[1], "index"]]]]]]
        case 2: return ["sort": [list(depth - 1, &random)]]
        case 3:
            return [
                "filter": [
                    ["merge": [list(depth - 1, &random), integer(0, &random)]],
                    ["<": [["val": [[1], "index"]], 6]],
                ]
            ]
        case 4:
            // A name is read from the data around the iteration, too.
            guard let name = named["integer"]?.randomElement(using: &random) else { break }
            return ["map": [list(depth - 1, &random), ["+": [["var": ""], ["val": [[2], .string(name)]]]]]]
        default: break
        }
        if random.oneIn(3) { return ["literal": [3, 1, 2]] }
        return variable("list", &random) ?? ["literal": [5]]
    }

    func any(_ depth: Int, _ random: inout SeededGenerator) -> JSON {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return .null
        case 1: return integer(depth, &random)
        case 2: return text(depth, &random)
        case 3: return list(depth, &random)
        case 4: return ["object": ["p": integer(depth, &random), "q": text(0, &random)]]
        case 5: return .bool(random.oneIn(2))
        case 6: return number(depth, &random)
        default: return variable("any", &random) ?? .null
        }
    }
}
