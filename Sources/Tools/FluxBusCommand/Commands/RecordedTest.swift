import BusJSON
import FluxBus

/// A test that a commit of the log makes: the state before it, its dispatch, and what the state was after it.
struct RecordedTest {
    private let session: CommandSession
    private let connection: BusConnection
    private let revision: Int

    init(_ session: CommandSession, _ connection: BusConnection, revision: Int) {
        self.session = session
        self.connection = connection
        self.revision = revision
    }

    /// The text of a file `*.test.yaml`.
    func text() throws -> String {
        let commit = try commit()
        let actions = commit["actions"]?.array ?? []
        guard actions.count == 1, let action = actions[0].object, let name = action["action"]?.string,
            let target = (action["store"] ?? action["type"])?.string
        else {
            throw CommandFailure(
                .refused,
                "Revision \(revision) is not one dispatch of one action; name another, `fluxbus log` lists them."
            )
        }
        let (store, before, after) = try states(target)
        let type = String(store.prefix { $0 != "/" })
        let definition = try definition(of: type)
        var lines = [
            "# What revision \(revision) did.", "type: \(type)", "tests:",
            "  - name: \(JSON.string("\(name), as in revision \(revision)").encoded)",
            "    store: \(JSON.string(String(store.dropFirst(type.count + 1))).encoded)",
        ]
        if let time = commit["time"] { lines.append("    time: \(time.encoded)") }
        if let uid = commit["by"]?["uid"] { lines.append("    uid: \(uid.encoded)") }
        lines.append("    given: \(JSON.object(Self.plain(before, definition)).encoded)")
        let others = try others(of: definition, besides: store, areDispatchedTo: target == "*")
        if !others.isEmpty { lines.append("    stores: \(JSON.object(others).encoded)") }
        // What the action did to the others counts, too. A test has no `where`, by which it may have left some of them alone.
        let isOfSeveral =
            action["where"] == nil && others.contains { target == "*" || $0.key.hasPrefix("\(target)/") }
        let dispatch: JSON = isOfSeveral ? ["action": .string(name), "type": .string(target)] : .string(name)
        lines.append("    dispatch: \(dispatch.encoded)")
        var payload = action["payload"]?.object ?? [:]
        // The log has a digest of what is redacted, which no test can send.
        for pointer in definition["actions"]?[name]?["redact"]?.array ?? [] {
            guard let member = pointer.string?.dropFirst(), payload[String(member)] != nil else { continue }
            payload[String(member)] = nil
            lines.append(
                "    # The log does not have payload.\(member); add a value, if the action needs one.")
        }
        if !payload.isEmpty { lines.append("    payload: \(JSON.object(payload).encoded)") }
        let changes = Self.changes(before, after)
        lines.append(changes.isEmpty ? "    unchanged: true" : "    state: \(JSON.object(changes).encoded)")
        if let result = Self.result(of: action, by: isOfSeveral ? [store] + others.keys : nil, at: store) {
            lines.append("    returns: \(result.encoded)")
        }
        return Self.escaped(lines.joined(separator: "\n") + "\n")
    }

    /// What the action returned: for each of these addresses, or, without them, for one store alone.
    private static func result(of action: JSONObject, by addresses: [String]?, at store: String) -> JSON? {
        guard let addresses else { return action["result"] ?? action["results"]?[store] }
        var results = JSONObject()
        for address in addresses { results[address] = action["results"]?[address] }
        return results.isEmpty ? nil : .object(results)
    }

    /// The text, with escapes for what YAML allows only as such; it has that only within quotes.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x7f...0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// What the bus says of stores or types at a revision.
    private func ask(
        _ operation: String, about member: (name: String, value: JSON), at revision: Int
    ) throws -> JSONObject {
        var request = BusRequest(operation, ["revision": .int(revision)])
        request.set(member.name, member.value)
        return try session.ask(request, on: connection)
    }

    private func commit() throws -> JSON {
        let request = BusRequest(
            "history", ["since": .int(revision - 1), "until": .int(revision), "limit": 1])
        guard revision > 0, let commit = try session.ask(request, on: connection)["commits"]?.array?.first
        else {
            throw CommandFailure(.no, "There is no commit with revision \(revision).")
        }
        return commit
    }

    /// The store that the dispatch was sent to, or the first of its type that it changed, before and after it.
    private func states(_ target: String) throws -> (store: String, before: JSONObject, after: JSONObject) {
        let selector = StoreSelector(target).member
        let before = try ask("get", about: selector, at: revision - 1)["states"]?.object ?? [:]
        let after = try ask("get", about: selector, at: revision)["states"]?.object ?? [:]
        guard let chosen = before.members.first(where: { after[$0.key] != $0.value }) ?? before.members.first,
            let state = chosen.value.object
        else {
            throw CommandFailure(.no, "\(target) was not there before revision \(revision).")
        }
        return (chosen.key, state, after[chosen.key]?.object ?? [:])
    }

    private func definition(of type: String) throws -> JSON {
        try ask("types", about: ("type", .string(type)), at: revision - 1)["types"]?.array?.first ?? .null
    }

    /// A state without what is computed.
    private static func plain(_ state: JSONObject, _ definition: JSON) -> JSONObject {
        var state = state
        for member in definition["computed"]?.object ?? [:] { state[member.key] = nil }
        return state
    }

    /// The other stores whose states the type's expressions may read; where the dispatch is to these, too, also those that they
    /// read.
    private func others(
        of definition: JSON, besides store: String, areDispatchedTo isOfAll: Bool
    ) throws -> JSONObject {
        func awaited(by definition: JSON) -> [String] {
            definition["waitFor"]?.array?.compactMap(\.string) ?? []
        }
        var others = JSONObject()
        var (types, known) = (awaited(by: definition), Set<String>())
        while let type = types.popLast() {
            guard known.insert(type).inserted else { continue }
            let definition = try self.definition(of: type)
            if isOfAll { types += awaited(by: definition) }
            for member in try ask("get", about: ("type", .string(type)), at: revision - 1)["states"]?.object
                ?? [:]
            where member.key != store {
                others[member.key] = .object(Self.plain(member.value.object ?? [:], definition))
            }
        }
        return others
    }

    /// The members that differ, as they are afterwards; null for those that are gone, also inside of objects.
    private static func changes(_ before: JSONObject, _ after: JSONObject) -> JSONObject {
        var changes = JSONObject()
        for member in after where before[member.key] != member.value {
            changes[member.key] = whole(member.value, after: before[member.key])
        }
        for member in before where after[member.key] == nil { changes[member.key] = .null }
        return changes
    }

    /// A value with null for what an object had before: a test takes an object for a part.
    private static func whole(_ value: JSON, after before: JSON?) -> JSON {
        guard case .object(var object) = value, let old = before?.object else { return value }
        for member in object.members { object[member.key] = whole(member.value, after: old[member.key]) }
        for member in old where object[member.key] == nil { object[member.key] = .null }
        return .object(object)
    }
}
