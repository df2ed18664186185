import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Who has which roles under the access rules in force, and what they may therefore do. Without rules nobody has grants,
/// and everybody may do all but what is kept for operators.
final class AccessControl {
    private let machine: StateMachine
    private let clock: TurnClock
    private let connections: Connections
    private let outputs: Outputs
    private let maps: Maps
    /// The user name of a uid, and the groups of that user.
    private let lookUp: (Int) -> (user: String?, groups: [String])

    /// Worked out once for those who have the same roles, as long as the rules are the same.
    private var known: [[String]: (grants: Grants, permits: Permits)] = [:]
    private var rules: AccessRules?

    /// How often somebody with a role was refused, and those without any under "".
    private(set) var denials: [String: Int] = [:]
    private var reportedAt = Int.min / 2
    private var unreported = 0

    init(
        _ machine: StateMachine, _ clock: TurnClock, _ connections: Connections, _ outputs: Outputs,
        _ maps: Maps, lookUp: @escaping (Int) -> (user: String?, groups: [String])
    ) {
        self.machine = machine
        self.clock = clock
        self.connections = connections
        self.outputs = outputs
        self.maps = maps
        self.lookUp = lookUp
    }

    /// A client is who it is: from now on it may do what its roles allow. Whoever is identified is identified here.
    func identify(_ connection: Connection, as principal: Principal) {
        know(connection, as: named(principal, connection.access))
        connections.give(connection, to: principal.identity)
    }

    /// The machine is that of an earlier revision.
    func adopt(_ connection: Connection) {
        know(connection, as: connection.access.principal.map { machine.principal(known: $0) })
    }

    private func know(_ connection: Connection, as principal: Principal?) {
        let known = known(of: principal)
        connection.access.identify(as: principal, known?.grants, known?.permits)
    }

    /// What a principal may do; nil where there are no rules, and for the daemon itself.
    func grants(of principal: Principal?) -> Grants? { known(of: principal)?.grants }

    /// The rules have changed, or what they are about: every connection is judged again.
    func reassess(_ hub: SubscriptionHub) {
        // Types may have changed: what was worked out for their actions is worked out again.
        for (_, permits) in known.values { permits.clear() }
        for case let connection? in connections.all { judge(connection, hub) }
        maps.endAll()
    }

    /// What a client says of itself may have changed its roles.
    func reassess(_ connection: Connection, _ hub: SubscriptionHub) {
        let roles = connection.access.grants?.roles
        guard let principal = connection.access.principal else { return }
        identify(connection, as: principal)
        let grants = connection.access.grants
        if grants?.roles == roles { return }
        judge(connection, hub)
        maps.endAll(of: connection) { grants?.showsAll(ofType: $0.name) ?? true }
    }

    private func judge(_ connection: Connection, _ hub: SubscriptionHub) {
        guard let principal = connection.access.principal else { return }
        identify(connection, as: principal)
        clock.work += Work.look * connection.delivery.subscriptions.count
        hub.reassess(connection)
        connections.markReady(connection)
    }

    private func known(of principal: Principal?) -> (grants: Grants, permits: Permits)? {
        guard let rules = machine.access, let principal, principal.identity != nil else { return nil }
        if rules !== self.rules {
            known = [:]
            self.rules = rules
        }
        let roles = rules.roles(of: credentials(of: principal.asker))
        if let known = known[roles] { return known }
        let grants = rules.grants(to: roles)
        known[roles] = (grants, Permits(grants))
        return known[roles]
    }

    /// The principal as events and the log show it: with its user, what its client says of itself, and its roles.
    private func named(_ principal: Principal, _ access: ClientAccess) -> Principal {
        guard let identity = principal.identity, let peer = principal.peer,
            var by = (try? JSON(parsing: principal.by))?.object
        else { return principal }
        let known = by
        by["client"] = access.clientName.map(JSON.string)
        by["via"] = access.via.map(JSON.string)
        if let uid = principal.uid { by["user"] = lookUp(uid).user.map(JSON.string) }
        by["roles"] = nil
        if let rules = machine.access {
            var credentials = credentials(of: principal)
            credentials.client = access.clientName
            by["roles"] = .array(rules.roles(of: credentials).map(JSON.string))
        }
        if by == known { return principal }
        return machine.principal(identity, peer: peer, by: Array(by.encoded.utf8))
    }

    private func credentials(of principal: Principal) -> Credentials {
        var credentials = Credentials()
        switch principal.identity {
        case .uid(let uid), .user(let uid, _):
            let (user, groups) = lookUp(uid)
            credentials.uid = uid
            credentials.user = user
            credentials.groups = groups
        case .token(let name): credentials.token = name
        case .certificate(let name): credentials.certificate = [name]
        case nil: break
        }
        credentials.client = principal.client
        switch principal.peer {
        case .unix(_, _, let unit)?: credentials.unit = unit
        // Its further names are known as long as it is connected; the log knows the first.
        case .tcp(_, let certificate?)? where principal.identity == .certificate(certificate.name):
            credentials.certificate += certificate.names
        default: break
        }
        return credentials
    }

    // MARK: Denials

    /// Counts a refusal by the rules; some are reported, so that a client can't fill the operator's log.
    func noteDenial(_ error: RequestError, of connection: Connection) {
        guard let roles = connection.access.grants?.roles else { return }
        for role in roles.isEmpty ? [""] : roles { denials[role, default: 0] += 1 }
        guard clock.now - reportedAt >= DaemonLimits.denialInterval else { return unreported += 1 }
        let who = roles.isEmpty ? "no role" : "role \(roles.joined(separator: ", "))"
        let more =
            unreported == 0 ? "" : " \(unreported) more were refused since the last entry of this kind."
        (reportedAt, unreported) = (clock.now, 0)
        outputs.report(
            Diagnostic(
                kind: .denied, level: .warning,
                message: "A client with \(who) was refused: \(error.message)\(more)", peer: connection.peer,
                store: error.detail("store"), action: error.detail("action")))
    }
}

extension DaemonLimits {
    /// The shortest time between two denials that are reported, in milliseconds.
    static let denialInterval = 1000
}
