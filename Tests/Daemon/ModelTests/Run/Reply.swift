import BusJSON

/// Replies, made comparable.
enum Reply {
    /// Times and lengths of time in whole milliseconds, as how a second is written is not promised; all of them 0 where the
    /// model's clock stands still.
    static func inMilliseconds(_ json: JSON, _ model: ModelBus) -> JSON {
        switch json {
        case .array(let elements): return .array(elements.map { inMilliseconds($0, model) })
        case .object(let members):
            var result = members
            for member in members {
                switch member.key {
                case "time", "due", "ttl", "linger", "every":
                    result[member.key] = member.value.double.map {
                        .int(model.isTimed ? Int(($0 * 1000).rounded()) : 0)
                    }
                // These hold what users named.
                case "states", "changes", "payload", "state", "definitions", "result", "results": break
                default: result[member.key] = inMilliseconds(member.value, model)
                }
            }
            return .object(result)
        default: return json
        }
    }

    /// A reply as the model says it: without the text of a message, and a rehearsal as the states that it leads to.
    static func normalized(_ reply: JSON, _ request: JSONObject, _ model: ModelBus) throws -> JSON {
        guard var members = inMilliseconds(reply, model).object else { return reply }
        if var error = members["error"]?.object {
            error["message"] = nil
            members["error"] = .object(error)
        }
        if request["dryRun"] == true, members["matched"] != nil {
            var outcome = members["states"]?.object ?? [:]
            for change in members["changes"]?.object ?? [:] {
                guard let state = model.world.stores[change.key]?.state else { continue }
                outcome[change.key] = ModelWrite.merged(change.value, into: state)
            }
            (members["states"], members["changes"]) = (nil, nil)
            members["outcome"] = .object(outcome)
        }
        if request["op"] == "timers", members["next"] != nil { members["next"] = "…" }
        if request["op"] == "history" {
            members["commits"] = members["commits"]?.array.map { .array($0.map(commit)) }
            members["next"] = members["next"].map { next($0, members["commits"], request, model) }
        }
        return .object(members)
    }

    /// Where a page goes on: any revision between its last commit and the one that follows will do.
    private static func next(
        _ given: JSON, _ commits: JSON?, _ request: JSONObject, _ model: ModelBus
    ) -> JSON {
        guard let next = given.int, let last = commits?.array?.last?["revision"]?.int, next >= last else {
            return given
        }
        let isOnWay = (last..<next).contains { model.concerns($0 + 1, request) }
        return .int(isOnWay ? next : last)
    }

    /// A commit of the past without what the contract does not fix: the form of definitions, and in which order stores went.
    private static func commit(_ commit: JSON) -> JSON {
        guard var members = commit.object else { return commit }
        if members["definitions"] != nil {
            members["definitions"] = true
            members["states"] = nil
        }
        members["dropped"] = members["dropped"]?.array.map { dropped in
            .array(dropped.compactMap(\.string).sorted().map(JSON.string))
        }
        return .object(members)
    }

    /// What the model answers, in the same form.
    static func expected(_ answer: Answer, _ request: JSONObject) -> JSON? {
        var members: JSONObject
        switch answer {
        case .silent: return nil
        case .refused: return nil
        case .done(let given): members = given
        }
        members["id"] = request["id"]
        members["ok"] = true
        if request["op"] == "history" {
            members["commits"] = members["commits"]?.array.map { .array($0.map(commit)) }
        }
        return .object(members)
    }
}
