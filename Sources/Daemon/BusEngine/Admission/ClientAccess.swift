import BusLogic
import BusMachine

/// Who a client is, and what it may therefore do. `AccessControl` decides it.
struct ClientAccess {
    /// Who is at the other end, where the principal doesn't say the same.
    private var stranger: Stranger?
    /// What its client says of itself; most say nothing.
    private var claims: Claims?
    /// Nil before a TCP client's hello.
    private(set) var principal: Principal?
    /// The same, lent for a request, during which it does not change: so no reference is counted.
    private(set) var lentPrincipal: Unmanaged<Principal>?
    /// What it may do under the access rules; nil where there are none.
    private(set) var grants: Grants?
    /// What of that needs no further look; nil where `grants` is.
    private(set) var permits: Permits?

    private final class Stranger: Sendable {
        let peer: Peer

        init(_ peer: Peer) { self.peer = peer }
    }

    private final class Claims: Sendable {
        let name: String?
        let via: String?
        let token: Int

        init(name: String?, via: String?, token: Int) {
            (self.name, self.via, self.token) = (name, via, token)
        }
    }

    mutating func meet(_ peer: Peer) { stranger = Stranger(peer) }

    var peer: Peer {
        guard let peer = stranger?.peer ?? principal?.peer else {
            preconditionFailure("A client was asked for its peer before it was met.")
        }
        return peer
    }

    var isRestricted: Bool { grants != nil }

    /// What its client calls itself; nil before it has said so.
    var clientName: String? { claims?.name }
    /// The address for which its client speaks, as a web server does for a browser; it can't be changed, so that who is
    /// behind the client can't hide it.
    var via: String? { claims?.via }
    /// The digest of the token that it has shown; 0 for none, or one that is not known.
    var token: Int { claims?.token ?? 0 }

    mutating func introduce(as name: String?, via address: String?) {
        guard name != nil || address != nil else { return }
        claims = Claims(name: name ?? clientName, via: via ?? address, token: token)
    }

    mutating func show(token digest: Int) { claims = Claims(name: clientName, via: via, token: digest) }

    mutating func identify(as principal: Principal?, _ grants: Grants?, _ permits: Permits?) {
        let peer = peer
        (self.principal, self.grants, self.permits) = (principal, grants, permits)
        stranger = principal?.peer == peer ? nil : stranger ?? Stranger(peer)
        lentPrincipal = principal.map { .passUnretained($0) }
    }
}
