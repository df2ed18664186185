import BusJSON
import BusLogic

/// Commits as somebody with certain roles may see them: as if there were nothing else on the bus.
extension Grants {
    /// An entry without what is not shown; nil where nothing is left.
    func shown(_ entry: JSONObject) -> JSONObject? {
        if entry["revision"] == nil { return nil }
        var shown: JSONObject = [:]
        var isAny = false
        func take(_ name: String, _ value: JSON?) {
            shown[name] = value
            if value != nil { isAny = true }
        }
        for member in entry.members {
            switch member.key {
            case "revision", "times", "time", "by", "traceparent": shown[member.key] = member.value
            case "actions":
                // An index would tell of actions that are not shown.
                let actions = (member.value.array ?? []).filter(knows(action:)).map(\.withoutIndex)
                if !actions.isEmpty { isAny = true }
                shown["actions"] = .array(actions)
            case "created", "states":
                let stores = (member.value.object?.members ?? []).filter { knowsHistory(ofStore: $0.key) }
                take(
                    member.key,
                    stores.isEmpty
                        ? nil
                        : .object(stores.reduce(into: JSONObject()) { $0[$1.key] = $1.value }))
            case "dropped":
                let stores = (member.value.array ?? []).filter { knowsHistory(ofStore: $0.string ?? "") }
                take("dropped", stores.isEmpty ? nil : .array(stores))
            case "reverted":
                if knowsHistory(ofStore: member.value["store"]?.string ?? "") {
                    take("reverted", member.value)
                }
            case "scheduled", "cancelled", "fired":
                if knows(action: member.value) { take(member.key, member.value) }
            case "definitions", "undefined":
                let types = (member.value.array ?? []).filter {
                    knows(type: ($0["type"] ?? $0).string ?? "")
                }
                take(member.key, types.isEmpty ? nil : .array(types))
            case "advanced": if knowsEverything { take("advanced", member.value) }
            case "access": if mayManage { take("access", member.value) }
            // Among the rest is the key, which is its client's own.
            default: continue
            }
        }
        // That what was created is ephemeral.
        if shown["created"] != nil { shown["connection"] = entry["connection"] }
        return isAny ? shown : nil
    }
}
