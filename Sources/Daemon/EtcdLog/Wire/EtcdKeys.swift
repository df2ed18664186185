import BusCluster

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
