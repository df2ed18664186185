import BusJSON

/// Who is at the other end of a connection.
package enum Peer: Sendable, Equatable {
    /// A Unix socket, as the kernel reports it. `unit` is the service manager's unit that the process belongs to, where
    /// that is known: `ssh.service`, or `user@1000.service/editor.service` for one of a user's own.
    case unix(uid: Int, pid: Int, unit: String? = nil)
    /// TCP: not identified until its first line came: a `hello` with a token, or anything where TLS has verified a
    /// certificate. `address` is `HOST:PORT`.
    case tcp(address: String, certificate: ClientCertificate? = nil)
}

/// A client's identity, for everything that outlives its connection.
package enum Identity: Hashable, Sendable {
    case uid(Int)
    /// A user of the machine that a member of the bus runs on.
    case user(Int, member: String)
    case token(String)
    case certificate(String)
}

extension Identity {
    /// As snapshots have it.
    var members: JSONObject {
        switch self {
        case .uid(let uid): ["uid": .int(uid)]
        case .user(let uid, let member): ["uid": .int(uid), "member": .string(member)]
        case .token(let name): ["token": .string(name)]
        case .certificate(let name): ["certificate": .string(name)]
        }
    }

    /// Nil if that says none.
    init?(_ members: JSONObject) {
        if let uid = members["uid"]?.int {
            self = members["member"]?.string.map { .user(uid, member: $0) } ?? .uid(uid)
        } else if let name = members["certificate"]?.string {
            self = .certificate(name)
        } else if let name = members["token"]?.string {
            self = .token(name)
        } else {
            return nil
        }
    }
}

/// On whose behalf something is committed, as rules, keys and the log know it. It never changes.
public final class Principal: Sendable {
    /// Nil for the daemon itself.
    package let identity: Identity?
    /// The identity's number in the state machine: the creator of stores, the owner of keys.
    package let number: Int32
    /// The user id, where the kernel reports it.
    package let uid: Int?
    /// The client's peer; nil for the daemon itself.
    package let peer: Peer?
    /// `by` in events and in the log, encoded.
    package let by: [UInt8]
    /// What rules and expressions may know of it.
    package let who: JSON
    /// Of a timer's commit: the principal who asked for the timer.
    private let origin: Principal?

    init(
        _ identity: Identity?, number: Int32, peer: Peer?, by: [UInt8], who: JSON, origin: Principal? = nil
    ) {
        self.origin = origin
        self.identity = identity
        self.number = number
        self.peer = peer
        self.by = by
        self.who = who
        switch identity {
        case .uid(let uid)?, .user(let uid, _)?: self.uid = uid
        default: uid = nil
        }
    }

    /// What the client calls itself, which is no more than a claim.
    package var client: String? { (try? JSON(parsing: by))?["client"]?.string }

    /// Who asked: the principal itself, or, of a timer's commit, who asked for the timer.
    package var asker: Principal { origin ?? self }

    /// What rules and expressions may know of who is described by `by`.
    static func who(_ by: [UInt8]) -> JSON {
        let by = (try? JSON(parsing: by))?.object ?? [:]
        var who: JSONObject = ["roles": by["roles"] ?? []]
        for name in ["uid", "user", "unit", "token"] { who[name] = by[name] ?? .null }
        return .object(who)
    }

    /// On whose behalf a timer fires: who asked for it, with the timer's name in `by`.
    package func firing(_ timer: String) -> Principal {
        var by = (try? JSON(parsing: self.by))?.object ?? [:]
        by["timer"] = .string(timer)
        return Principal(
            identity, number: number, peer: peer, by: Array(by.encoded.utf8), who: who, origin: self)
    }

    /// The daemon itself: configured stores, definitions at the start, wills without a client.
    package static let daemon: Principal = {
        let by = Array("{\"daemon\":true}".utf8)
        return Principal(nil, number: StoreRecord.configured, peer: nil, by: by, who: who(by))
    }()
}

extension StateMachine {
    /// The principal of a client, whose identity gets a number if it is new, unless the bus is shared with other machines;
    /// `by` is how events and the log show it.
    package func principal(_ identity: Identity, peer: Peer, by: [UInt8]) -> Principal {
        if member == nil { return numbered(identity, peer: peer, by: by) }
        return identities.principal(
            identity, number: identities[identity] ?? StoreRecord.nobody, peer: peer, by: by)
    }

    private func numbered(_ identity: Identity, peer: Peer, by: [UInt8]) -> Principal {
        identities.principal(identity, number: identities.number(of: identity), peer: peer, by: by)
    }

    /// A client on a Unix socket.
    package func principal(uid: Int, pid: Int, unit: String?, comm: String? = nil) -> Principal {
        var by: JSONObject = ["uid": .int(uid), "pid": .int(pid)]
        by["unit"] = unit.map(JSON.string)
        by["comm"] = comm.map(JSON.string)
        return principal(
            identity(of: uid), peer: .unix(uid: uid, pid: pid, unit: unit), by: Array(by.encoded.utf8))
    }

    /// The identity of a user of this machine.
    package func identity(of uid: Int) -> Identity { member.map { .user(uid, member: $0) } ?? .uid(uid) }

    /// The users of this machine are those of a member from now on: what they have created and the keys they have used stay theirs.
    package func moveUsers(to member: String) { identities.move(to: member) }

    /// Whose requests are shown as `by`, at the member that they have come to; nil for the daemon's own.
    package func identity(by: JSONObject) -> Identity? {
        by["uid"]?.int.map { identity(of: $0) } ?? by["token"]?.string.map { .token($0) }
            ?? by["certificate"]?.string.map { .certificate($0) }
    }

    /// A client that has shown a token.
    package func principal(token name: String, address: String) -> Principal {
        let by: JSONObject = ["token": .string(name), "address": .string(address)]
        return principal(.token(name), peer: .tcp(address: address), by: Array(by.encoded.utf8))
    }

    /// A client whose certificate was verified.
    package func principal(_ certificate: ClientCertificate, address: String) -> Principal {
        let by: JSONObject = ["certificate": .string(certificate.name), "address": .string(address)]
        return principal(
            .certificate(certificate.name), peer: .tcp(address: address, certificate: certificate),
            by: Array(by.encoded.utf8))
    }

    /// The same principal as another state machine knew it.
    package func principal(known other: Principal) -> Principal {
        guard let identity = other.identity, let peer = other.peer else { return other }
        return principal(identity, peer: peer, by: other.by)
    }

    /// The principal that `by` names in the log; nil if it names none.
    package func principal(by: JSONObject) -> Principal? {
        if let timer = by["timer"]?.string {
            var asker = by
            asker["timer"] = nil
            return principal(by: asker)?.firing(timer)
        }
        if by["daemon"] != nil { return .daemon }
        let text = by.encoded
        if let known = identities.principal(shownAs: text) { return known }
        let principal: Principal
        if let uid = by["uid"]?.int {
            principal = numbered(
                by["member"]?.string.map { .user(uid, member: $0) } ?? .uid(uid),
                peer: .unix(uid: uid, pid: by["pid"]?.int ?? 0, unit: by["unit"]?.string),
                by: Array(text.utf8))
        } else if let token = by["token"]?.string {
            principal = numbered(
                .token(token), peer: .tcp(address: by["address"]?.string ?? ""), by: Array(text.utf8))
        } else if let name = by["certificate"]?.string {
            let certificate = ClientCertificate(subject: name)
            principal = numbered(
                .certificate(name),
                peer: .tcp(address: by["address"]?.string ?? "", certificate: certificate),
                by: Array(text.utf8))
        } else {
            return nil
        }
        identities.remember(principal, shownAs: text)
        return principal
    }

    /// What an identity has on the bus: the stores it has created, and the timers it has set.
    package func holdings(of identity: Identity) -> (stores: Int, timers: Int) {
        guard let number = identities[identity] else { return (0, 0) }
        return (stores.countByCreator[number] ?? 0, timers.countByAsker[number] ?? 0)
    }

    /// The identity with a number; nil if there is none.
    package func identity(number: Int) -> Identity? { identities.identity(number: number) }
}

/// A client by the certificate that it has shown and that was verified.
package struct ClientCertificate: Sendable, Equatable {
    /// As RFC 2253 writes it: `CN=display-hall,O=Home`. Empty where the certificate has only other names.
    package let subject: String
    /// Its alternative names, each with its kind: `DNS:hall.home`, `IP:192.0.2.7`. The log does not keep them.
    package let names: [String]

    package init(subject: String, names: [String] = []) {
        self.subject = subject
        self.names = names
    }

    /// The name to show where only one can be shown.
    package var name: String { subject.isEmpty ? names.first ?? "" : subject }
}

extension JSON {
    /// The texts by which a commit's author, its `by`, is found: each value in it, a unit also without its suffix, and `daemon`.
    package var authorNames: [String] {
        (object?.members ?? []).flatMap { member -> [String] in
            if member.value == true { return [member.key] }
            guard let text = member.value.string ?? member.value.int.map(String.init) else { return [] }
            guard member.key == "unit", let dot = text.lastIndex(of: ".") else { return [text] }
            return [text, String(text[..<dot])]
        }
    }
}
