import BusEngine
import BusJSON
import Foundation
import TestSupport

/// A bus with an engine in memory that keeps every commit and the states after it, and answers questions about the past
/// as a daemon with an action log does. Pages are short, so that turning them is always tested.
///
/// Unchecked: the test prepares it, then the socket's queue alone uses it until `stop` has returned; the lock makes
/// the hand-over certain.
final class RememberingBus: @unchecked Sendable {
    private let lock = NSRecursiveLock()
    private let memory: MemoryBus
    private let watcher: MemoryClient
    private var clients: [Int: MemoryClient] = [:]
    private var socket: ScriptedBus?
    private(set) var commits: [JSON] = []
    private var states: [JSONObject] = [[:]]
    private var definitions: [JSON] = []
    /// History before it is gone.
    var oldest = 0
    var keepsLog = true
    /// Who is at the other end of the socket.
    var socketUID = 1000
    /// Called with each line from the socket before it is answered.
    var onLine: (RememberingBus, String) throws -> Void = { _, _ in }

    /// Called once behind the next reply; what it causes is sent after it.
    var afterReply: ((RememberingBus) throws -> Void)?

    static let pageSize = 3

    init(
        definitions further: [String] = [], epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90"
    ) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = further
        memory = try MemoryBus(setup, epoch: epoch)
        watcher = memory.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"*/*","actions":true}"#)
        definitions = [try types()]
    }

    /// Opens a socket and gives its address.
    func listen() throws -> String {
        let socket = try ScriptedBus { [self] line in
            lock.withLock {
                do {
                    try onLine(self, line)
                    let answers = try ask(line, uid: socketUID)
                    let after = afterReply
                    afterReply = nil
                    try after?(self)
                    return (answers + (try clients[socketUID]?.all() ?? [])).map(\.encoded)
                } catch {
                    return nil
                }
            }
        }
        self.socket = socket
        return socket.address
    }

    var received: [String] { socket?.received ?? [] }
    func stop() { socket?.stop() }

    var revision: Int { memory.engine.revision }
    /// All states now.
    var now: JSONObject { states[revision] }

    func advance(milliseconds: Int) { memory.advance(milliseconds: milliseconds) }

    /// Sends a request as somebody; gives all that comes, the reply among it.
    @discardableResult
    func ask(_ line: String, uid: Int = 1000) throws -> [JSON] {
        let request = try JSON(parsing: line)
        if keepsLog, let reply = try answerFromLog(request) {
            // Events that came meanwhile stand behind it, as on a real connection.
            return [.object(reply(request))] + (try clients[uid]?.all() ?? [])
        }
        let before = revision
        let client = clients[uid] ?? memory.connect(uid: uid)
        clients[uid] = client
        let answers = try client.ask(line)
        if revision > before { try record(request, by: uid) }
        return answers
    }

    /// Ends somebody's connection, with will and ephemeral stores.
    func end(uid: Int) throws {
        let before = try statesNow()
        clients.removeValue(forKey: uid)?.close()
        let after = try statesNow()
        let dropped = before.keys.filter { after[$0] == nil }
        try note(["dropped": .array(dropped.map(JSON.string))], by: uid)
    }

    // MARK: - Remembering

    private func record(_ request: JSON, by uid: Int) throws {
        var entry: JSONObject = [:]
        entry["key"] = request["key"]
        switch request["op"]?.string {
        case "create":
            let address = request["store"]?.string ?? ""
            entry["created"] = .object([address: try statesNow()[address] ?? .null])
            if request["ephemeral"]?.bool == true { entry["ephemeral"] = true }
        case "drop": entry["dropped"] = .array([request["store"] ?? .null])
        case "reload": entry["definitions"] = try types()
        default: break
        }
        try note(entry, by: uid)
    }

    private func note(_ members: JSONObject, by uid: Int) throws {
        var entry = members
        let actions = try watcher.all().filter { $0["event"] == "action" && $0["revision"] == .int(revision) }
        entry["revision"] = .int(revision)
        entry["time"] = .double(Double(memory.now) / 1000)
        entry["by"] = ["uid": .int(uid), "pid": .int(4000 + uid)]
        entry["actions"] = .array(
            actions.map { event in
                var action: JSONObject = [:]
                for name in ["type", "store", "action", "payload"] { action[name] = event[name] }
                return .object(action)
            })
        commits.append(.object(entry))
        states.append(try statesNow())
        definitions.append(try types())
    }

    private func statesNow() throws -> JSONObject {
        // Not over the watcher, whose events are still to be read.
        let client = memory.connect(uid: 0)
        defer { client.close() }
        let reply = try client.ask(#"{"op":"get","match":"*/*","limit":100000}"#)
        return reply.last?["states"]?.object ?? [:]
    }

    private func types() throws -> JSON {
        let client = memory.connect(uid: 0)
        defer { client.close() }
        return try client.ask(#"{"op":"types"}"#).last?["types"] ?? []
    }

    // MARK: - The past

    /// How a question about the past is answered; nil for any other request.
    private func answerFromLog(_ request: JSON) throws -> ((JSON) -> JSONObject)? {
        let result: JSONObject
        switch request["op"]?.string {
        case "history": result = history(request)
        case "revert": result = try revert(request)
        case "get" where request["revision"] != nil: result = past(request)
        case "types" where request["revision"] != nil:
            result = ["types": definitions[request["revision"]?.int ?? 0]]
        default: return nil
        }
        return { request in
            var reply = result
            reply["id"] = request["id"]
            if reply["ok"] == nil { reply["ok"] = true }
            return reply
        }
    }

    private static func refusal(_ code: String, _ more: JSONObject = [:]) -> JSONObject {
        var error = more
        error["code"] = .string(code)
        error["message"] = "No."
        return ["ok": false, "error": .object(error)]
    }

    private func history(_ request: JSON) -> JSONObject {
        let since = request["since"]?.int ?? oldest
        let until = request["until"]?.int ?? revision
        guard since >= oldest else { return Self.refusal("conflict", ["oldest": .int(oldest)]) }
        let matching = commits.filter { commit in
            let number = commit["revision"]?.int ?? 0
            return number > since && number <= until && concerns(commit, request)
        }
        let size = min(request["limit"]?.int ?? 100, Self.pageSize)
        var reply: JSONObject = ["commits": .array(Array(matching.prefix(size)))]
        if matching.count > size { reply["next"] = matching[size - 1]["revision"] }
        return reply
    }

    private func concerns(_ commit: JSON, _ request: JSON) -> Bool {
        guard let target = request["store"]?.string ?? request["type"]?.string else { return true }
        let targets =
            (commit["actions"]?.array ?? []).compactMap { $0["store"]?.string ?? $0["type"]?.string }
            + (commit["created"]?.object?.keys ?? [])
            + (commit["dropped"]?.array ?? []).compactMap(\.string)
            + [commit["reverted"]?["store"]?.string ?? ""]
        return targets.contains {
            $0 == target || $0 == "*" || target.hasPrefix($0 + "/") || $0.hasPrefix(target + "/")
        }
    }

    private func past(_ request: JSON) -> JSONObject {
        let revision = request["revision"]?.int ?? 0
        guard revision >= oldest else { return Self.refusal("conflict", ["oldest": .int(oldest)]) }
        guard revision <= self.revision else { return Self.refusal("conflict") }
        let all = states[revision]
        if let store = request["store"]?.string {
            guard let state = all[store] else { return Self.refusal("unknown_store") }
            return ["revision": .int(revision), "states": .object([store: state])]
        }
        let type = request["type"]?.string
        let after = request["after"]?.string ?? ""
        let members = all.filter { type == nil || $0.key.hasPrefix("\(type ?? "")/") }
            .filter { UTF8Order.precedes(after, $0.key) }
        let size = min(request["limit"]?.int ?? 1000, Self.pageSize)
        var reply: JSONObject = [
            "revision": .int(revision), "states": .object(JSONObject(sorted: Array(members.prefix(size)))),
        ]
        if members.count > size { reply["next"] = .string(members[size - 1].key) }
        return reply
    }

    /// As one commit, which the engine in memory makes of two.
    private func revert(_ request: JSON) throws -> JSONObject {
        let store = request["store"]?.string ?? ""
        let target = request["revision"]?.int ?? 0
        guard let state = states[target][store] else { return Self.refusal("unknown_store") }
        let client = memory.connect(uid: 0)
        try client.ask(#"{"op":"drop","store":"\#(store)"}"#)
        try client.ask(#"{"op":"create","store":"\#(store)","state":\#(state.encoded)}"#)
        client.close()
        // The revision that has been used up is a commit that did nothing.
        states.append(states[revision - 2])
        definitions.append(try types())
        commits.append([
            "revision": .int(revision - 1), "time": .double(Double(memory.now) / 1000),
            "by": ["daemon": true],
            "actions": [],
        ])
        try note(
            [
                "reverted": ["store": .string(store), "to": .int(target)],
                "states": .object([store: state]),
            ], by: 0)
        return ["revision": .int(revision)]
    }
}
