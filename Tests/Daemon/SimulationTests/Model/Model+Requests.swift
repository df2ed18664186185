import BusJSON

/// What must be answered to a line.
enum Outcome {
    /// Accepted, with these members beside `id` and `ok`, and perhaps more.
    case done(JSONObject)
    /// Tried out, with the states that would have changed.
    case rehearsed(JSONObject, [String: JSON])
    /// Refused, with one of these codes.
    case refused(Set<String>)
    /// A read, of what there is at the revision that the reply tells.
    case read
    /// Accepted without a reply.
    case silent
}

/// Requests as the lines of clients have them.
extension Model {
    /// Carries out a line, and says what its reply must be.
    mutating func execute(_ line: [UInt8], from client: Int, uid: Int) throws -> Outcome {
        if line.count > lineLimit { return .refused(["too_large"]) }
        guard let request = try JSON(parsing: line).object else { throw Violation("A line is no object.") }
        do {
            switch request["op"]?.string {
            case "dispatch": return try dispatch(request, line.count, uid)
            case "create": return try create(request, client, uid)
            case "drop": return try drop(request, uid)
            case "will":
                let will = actions(of: request)
                // Its stores need not be there yet.
                for action in will { _ = try action.accepted() }
                leave(will, of: client)
                return .done([:])
            case "get": return .read
            case "sync": return .done(["revision": .int(revision)])
            case "subscribe":
                let number = subscribe(client)
                return .done(["revision": .int(revision), "sub": .int(number)])
            case "unsubscribe":
                try unsubscribe(client, request["sub"]?.int ?? 0)
                return .done([:])
            default: throw Violation("The model knows no \(request["op"] ?? .null).")
            }
        } catch let refusal as Refusal {
            return .refused(refusal.others.union([refusal.code]))
        }
    }

    // MARK: Dispatch

    private mutating func dispatch(_ request: JSONObject, _ length: Int, _ uid: Int) throws -> Outcome {
        let isDryRun = request["dryRun"] == true
        let isSilent = request["ack"] == false
        let key = request["key"]?.string
        let meaning = Self.meaning(of: request)
        if !isDryRun, let key, let earlier = keys[uid]?[key] {
            guard earlier.request == meaning else { throw Refusal("conflict") }
            return isSilent
                ? .silent
                : .done([
                    "revision": .int(earlier.revision), "matched": .int(earlier.matched),
                    "changed": .int(earlier.changed), "duplicate": true,
                ])
        }
        let planned = try actions(of: request).flatMap { try plan($0) }
        if let expected = request["ifRevision"]?.int, stores[planned[0].target]?.revision != expected {
            throw Refusal("conflict")
        }
        // An event has to have room for the payload on its line.
        if length >= lineLimit / 4 {
            for action in planned where JSON.object(action.payload).encodedSize + 1024 > lineLimit {
                throw Refusal("too_large")
            }
        }
        let applied = try apply(planned)
        var members: JSONObject = [
            "matched": .int(applied.matched.count), "changed": .int(applied.changed.count),
        ]
        if isDryRun {
            members["revision"] = .int(revision)
            let states = applied.stores.filter { applied.changed.contains($0.key) }
            return .rehearsed(members, states.mapValues(\.state))
        }
        commit(applied.stores, planned, by: uid)
        members["revision"] = .int(revision)
        if let key {
            keys[uid, default: [:]][key] = (meaning, revision, applied.matched.count, applied.changed.count)
        }
        return isSilent ? .silent : .done(members)
    }

    /// What must be the same in a request that is sent again.
    private static func meaning(of request: JSONObject) -> JSON {
        var meaning: JSONObject = [:]
        for name in ["op", "type", "store", "action", "payload", "actions", "ifRevision"] {
            meaning[name] = request[name]
        }
        if meaning["payload"] == nil { meaning["payload"] = [:] }
        return .object(meaning)
    }

    private func actions(of request: JSONObject) -> [Action] {
        (request["actions"]?.array ?? [.object(request)]).map { Action($0) }
    }

    // MARK: Stores

    private mutating func create(_ request: JSONObject, _ client: Int, _ uid: Int) throws -> Outcome {
        let address = request["store"]?.string ?? ""
        if stores[address] != nil {
            guard request["ifMissing"] == true else { throw Refusal("exists") }
            return .done(["revision": .int(revision), "created": false])
        }
        create(address, by: uid, owner: request["ephemeral"] == true ? client : nil)
        return .done(["revision": .int(revision), "created": true])
    }

    private mutating func drop(_ request: JSONObject, _ uid: Int) throws -> Outcome {
        let address = request["store"]?.string ?? ""
        guard let store = stores[address] else { throw Refusal("unknown_store") }
        guard store.creator == uid else { throw Refusal("forbidden") }
        drop(address, by: uid)
        return .done(["revision": .int(revision)])
    }
}
