import BusJSON

/// What the sample types mean, said once more by hand.
enum ModelActions {
    static let types = ["note", "tree"]

    static func initial(of type: String) -> JSON {
        let plain: JSON =
            type == "note"
            ? ["count": 0, "flag": false, "value": .null, "list": [], "map": [:], "tally": 0]
            : [
                "count": 0, "flag": true, "value": [:], "list": [1, 2], "map": ["a": ["x": 1, "y": [1]]],
                "tally": 0,
            ]
        return computed(plain, of: type)
    }

    /// The payload with the defaults of a type filled in.
    static func accept(_ payload: JSONObject, for action: String, of type: String) throws -> JSONObject {
        guard let wanted = payloads[action] else { throw Refusal("unknown_action") }
        var payload = payload
        if action == "step", payload["by"] == nil { payload["by"] = type == "note" ? 2 : 3 }
        if action == "guarded", payload["least"] == nil { payload["least"] = -9 }
        for member in payload.members where member.key != "mark" && !wanted.keys.contains(member.key) {
            throw Refusal("invalid_payload")
        }
        for (name, kind) in wanted {
            guard let value = payload[name], kind == "any" || value.kind == kind else {
                throw Refusal("invalid_payload")
            }
        }
        return payload
    }

    private static let payloads: [String: [String: String]] = [
        "add": ["by": "integer"], "step": ["by": "integer"], "jump": ["to": "integer"], "flip": [:],
        "pay": ["by": "integer"],
        "put": ["value": "any"], "push": ["value": "any"], "pull": ["value": "any"],
        "key": ["key": "string", "value": "any"], "forget": ["key": "string"],
        "blend": ["value": "object"], "deepen": ["key": "string", "value": "any"],
        "element": ["index": "integer", "value": "any"], "shift": ["index": "integer"],
        "mixed": ["key": "string", "value": "any"], "guarded": ["least": "integer"], "ring": [:],
    ]

    /// What an action makes of a state.
    static func state(_ old: JSON, after action: String, _ payload: JSONObject, of type: String) throws
        -> JSON
    {
        var state = old
        for (path, write) in try writes(of: action, payload, on: old) {
            state = try write.applied(to: state, at: path)
        }
        return computed(state, of: type)
    }

    private static func writes(
        of action: String, _ payload: JSONObject, on state: JSON
    ) throws -> [([String], ModelWrite)] {
        let value = payload["value"] ?? .null
        let key = payload["key"]?.string ?? ""
        let index = "\(payload["index"]?.int ?? 0)"
        let count = state["count"]?.int ?? 0
        switch action {
        case "add": return [(["count"], .increment(payload["by"]?.int ?? 0))]
        case "step": return [(["count"], .increment(payload["by"]?.int ?? 0)), (["flag"], .toggle)]
        case "jump": return [(["count"], .set(payload["to"] ?? 0))]
        case "pay": return [(["flag"], .toggle), (["tally"], .increment(payload["by"]?.int ?? 0))]
        case "flip": return [(["flag"], .toggle)]
        case "put": return [(["value"], .set(value))]
        case "push": return [(["list"], .append(value))]
        case "pull": return [(["list"], .remove(value))]
        case "key": return [(["map", key], .set(value))]
        case "forget": return [(["map", key], .unset)]
        case "blend": return [(["map"], .merge(value))]
        case "deepen": return [(["map", key], .merge(value))]
        case "element": return [(["list", index], .set(value))]
        case "shift": return [(["list", index], .unset)]
        case "mixed" where count < 5:
            return [
                (["map", key], .set(value)), (["value"], .set(state["map"] ?? .null)),
                (["count"], .increment(1)), (["list"], .append(.int(count))),
            ]
        case "guarded":
            guard count >= payload["least"]?.int ?? 0 else { throw Refusal.rejected }
            return [(["count"], .increment(1))]
        default: return []
        }
    }

    private static func computed(_ plain: JSON, of type: String) -> JSON {
        guard var state = plain.object, let count = state["count"]?.int else { return plain }
        func checked(_ result: (partialValue: Int, overflow: Bool)) -> JSON {
            result.overflow ? .null : .int(result.partialValue)
        }
        if type == "note" {
            state["size"] = checked(count.addingReportingOverflow(1))
        } else {
            state["twice"] = checked(count.multipliedReportingOverflow(by: 2))
            state["isLost"] = .bool(state["twice"] == .null)
            state["isEmpty"] = .bool(state["list"] == [])
        }
        return .object(state)
    }
}
