import BusJSON

/// The result of a dispatch.
public struct DispatchReply: Sendable, Equatable {
    /// The commit's revision.
    public let revision: Int
    /// How many stores it matched.
    public let matched: Int
    /// How many stores differ at its end.
    public let changed: Int
    /// True when the dispatch had been committed before and its answer was lost; it was not committed again.
    public let isDuplicate: Bool
    /// What a single action on one store returns, if it has `returns`. Nil also where the client may not read the store.
    public let result: JSON?
    /// What any other dispatch returns, by the addresses of its stores. Where several actions reach one store, the last one
    /// counts.
    public let results: JSONObject

    public init(
        revision: Int, matched: Int, changed: Int, isDuplicate: Bool = false, result: JSON? = nil,
        results: JSONObject = [:]
    ) {
        self.revision = revision
        self.matched = matched
        self.changed = changed
        self.isDuplicate = isDuplicate
        self.result = result
        self.results = results
    }

    init(_ reply: JSONObject) throws(BusError) {
        guard let revision = reply["revision"]?.int, let matched = reply["matched"]?.int,
            let changed = reply["changed"]?.int
        else { throw BusError(.unexpectedReply, "A dispatch was answered without its counts.") }
        self.init(
            revision: revision, matched: matched, changed: changed,
            isDuplicate: reply["duplicate"]?.bool ?? false, result: reply["result"],
            results: reply["results"]?.object ?? [:])
    }

    /// The same as the members of a reply.
    var object: JSONObject {
        var object: JSONObject = [
            "ok": true, "revision": .int(revision), "matched": .int(matched), "changed": .int(changed),
        ]
        if isDuplicate { object["duplicate"] = true }
        object["result"] = result
        if !results.isEmpty { object["results"] = .object(results) }
        return object
    }
}

/// One action of a batch, of a dry run or of a will.
///
/// ```swift
/// ActionRequest("increment", to: .store("counter/a"), payload: ["by": 2])
/// ```
public struct ActionRequest: Sendable, Equatable {
    public var action: String
    public var target: DispatchTarget
    public var payload: JSONObject

    public init(_ action: String, to target: DispatchTarget, payload: JSONObject = [:]) {
        self.action = action
        self.target = target
        self.payload = payload
    }

    var json: JSON {
        var object: JSONObject = [
            "action": .string(action), target.member.name: .string(target.member.value),
        ]
        if !payload.isEmpty { object["payload"] = .object(payload) }
        return .object(object)
    }
}

/// The target of an action.
public enum DispatchTarget: Hashable, Sendable {
    /// One store, by its address: `counter/kitchen`.
    case store(String)
    /// Every store of a type.
    case type(String)
    /// Every store of every type that declares the action.
    case everything

    /// The member of a request for it.
    var member: (name: String, value: String) {
        switch self {
        case .store(let address): ("store", address)
        case .type(let name): ("type", name)
        case .everything: ("type", "*")
        }
    }
}
