import BusCluster
import BusJSON

/// An answer of etcd, or one message of a stream. Whatever bytes came: nothing is taken for granted, absent is zero.
package struct EtcdReply {
    package let endpoint: String
    package let json: JSON

    package init(_ endpoint: String, _ body: [UInt8]) throws(EtcdFault) {
        do throws(JSONError) {
            json = try JSON(parsing: body)
        } catch {
            throw .unexpected(endpoint, "an answer that is not JSON (\(error))")
        }
        guard json.object != nil else { throw .unexpected(endpoint, "an answer that is not an object") }
        self.endpoint = endpoint
    }

    private init(_ endpoint: String, _ json: JSON) {
        self.endpoint = endpoint
        self.json = json
    }

    /// What a message of a stream holds.
    package func streamed() throws(EtcdFault) -> EtcdReply {
        if let error = json["error"] {
            // As the gateway of 3.4 writes it, or that of later versions.
            let code = (error["grpc_code"] ?? error["code"])?.int ?? 2
            throw EtcdFault(endpoint, code: code, words: error["message"]?.string ?? "")
        }
        guard let result = json["result"], result.object != nil else {
            throw .unexpected(endpoint, "a message without a result")
        }
        return EtcdReply(endpoint, result)
    }

    // MARK: - Members of answers

    package func number(_ name: String) throws(EtcdFault) -> Int { try Self.number(json, name, endpoint) }

    /// The state of the store that the answer speaks of.
    package func revision() throws(EtcdFault) -> Int {
        try Self.number(json["header"] ?? .null, "revision", endpoint)
    }

    /// A number of 64 bits without a sign; empty where the answer tells none.
    package var cluster: String { String((json["header"]?["cluster_id"]?.string ?? "").prefix(20)) }

    package func flag(_ name: String) -> Bool { json[name]?.bool ?? false }

    package func text(_ name: String) -> String { json[name]?.string ?? "" }

    /// The keys of a range.
    package func keys() throws(EtcdFault) -> [EtcdKey] {
        var keys: [EtcdKey] = []
        for key in json["kvs"]?.array ?? [] { keys.append(try EtcdKey(key, endpoint)) }
        return keys
    }

    /// The keys that a transaction's n-th operation found.
    package func keys(ofOperation index: Int) throws(EtcdFault) -> [EtcdKey] {
        guard let operations = json["responses"]?.array, operations.indices.contains(index),
            let range = operations[index]["response_range"]
        else { throw .unexpected(endpoint, "an answer without what was asked for") }
        return try EtcdReply(endpoint, range).keys()
    }

    /// Numbers of 64 bits come as strings.
    package static func number(_ json: JSON, _ name: String, _ endpoint: String) throws(EtcdFault) -> Int {
        switch json[name] {
        case nil, .null?: return 0
        case .int(let number)? where number >= 0: return number
        case .string(let text)?:
            if let number = Int(text), number >= 0 { return number }
            fallthrough
        default: throw .unexpected(endpoint, "an answer in which \(name) is not a number")
        }
    }
}

/// A key with its value, as far as they were asked for.
package struct EtcdKey: Equatable {
    package let key: [UInt8]
    package let value: [UInt8]
    package let created: Int
    package let modified: Int
    package let version: Int
    /// 0: none.
    package let lease: Int

    package init(_ json: JSON, _ endpoint: String) throws(EtcdFault) {
        guard let key = Base64.decode(json["key"]?.string ?? ""),
            let value = Base64.decode(json["value"]?.string ?? "")
        else { throw .unexpected(endpoint, "a key that is not base64") }
        self.key = key
        self.value = value
        created = try EtcdReply.number(json, "create_revision", endpoint)
        modified = try EtcdReply.number(json, "mod_revision", endpoint)
        version = try EtcdReply.number(json, "version", endpoint)
        lease = try EtcdReply.number(json, "lease", endpoint)
    }
}

/// The keys of one bus. A proposal's number is the version of its incarnation's key: each proposal replaces the one before,
/// and etcd's history has them all.
///
/// So nothing has to be deleted when the log is trimmed, which every watcher would hear of; the number stays known for as
/// long as the incarnation lives, whatever was trimmed; and the key goes with its lease.
package struct EtcdKeys: Sendable {
    package let prefix: String

    package init(bus: String) { prefix = "/fluxbus/\(bus)/" }

    /// All barriers are written here; what counts is that they come in order.
    package var barrier: String { prefix + "barrier" }
    package var members: String { prefix + "members/" }
    package func member(_ name: String) -> String { members + name }
    package func log(_ member: String, _ incarnation: Int) -> String {
        "\(prefix)log/\(member)-\(incarnation)"
    }

    /// The first key behind all that begin like this one.
    package static func end(of prefix: String) -> String {
        // Prefixes end in a slash, and a zero follows the slash.
        String(prefix.dropLast()) + "0"
    }

    package enum Meaning: Equatable {
        case barrier
        case member(String)
        case log(member: String, incarnation: Int)
    }

    /// What a key is for; nil: nothing of ours.
    package func meaning(of key: [UInt8]) -> Meaning? {
        let text = String(decoding: key, as: UTF8.self)
        guard text.hasPrefix(prefix) else { return nil }
        let rest = text.dropFirst(prefix.count)
        if rest == "barrier" { return .barrier }
        if rest.hasPrefix("members/") {
            let name = String(rest.dropFirst(8))
            return ProposalName.isMemberName(name) ? .member(name) : nil
        }
        guard rest.hasPrefix("log/"), let dash = rest.lastIndex(of: "-"),
            let incarnation = Int(rest[rest.index(after: dash)...]), incarnation > 0
        else { return nil }
        let name = String(rest[..<dash].dropFirst(4))
        return ProposalName.isMemberName(name) ? .log(member: name, incarnation: incarnation) : nil
    }
}
