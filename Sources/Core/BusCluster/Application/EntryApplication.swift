import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Carries out what entries ask for, in a state machine; who makes the commits is told to the sink.
///
/// It knows no member and no log: `Replica` decides what is carried out and when.
final class EntryApplication {
    let machine: StateMachine
    let sink: any CommitSink
    /// Reads the requests, which have the client's own form.
    let request = RequestReader(depth: EntryApplication.depth)
    private var memory = SenderMemory()
    /// What roles may do, as long as the rules are the same.
    private var grants: [[String]: Grants] = [:]
    private var rules: AccessRules?

    /// Nothing is nested more deeply in what a member has admitted.
    private static let depth = 1024

    private let omitted: OmittedRules

    init(_ machine: StateMachine, _ sink: any CommitSink, omitting omitted: OmittedRules) {
        self.omitted = omitted
        self.machine = machine
        self.sink = sink
    }

    /// Carries out a request. `session` gives the session of who asks, opened if need be.
    func carryOut(
        _ line: [UInt8], by principal: Principal, isOperator: Bool, session: () -> Session
    ) throws(RequestError) -> EntryReply {
        let outcome = line.withUnsafeBytes { line in
            Result { () throws(RequestError) in
                try self.request.read(line, from: &self.memory)
                return try self.carryOut(by: principal, isOperator: isOperator, session)
            }
        }
        machine.plan.clear()
        return try outcome.get()
    }

    private func carryOut(
        by principal: Principal, isOperator: Bool, _ session: () -> Session
    ) throws(RequestError) -> EntryReply {
        switch try request.operation() {
        case .dispatch:
            if request.present.contains(.in) || request.present.contains(.at) {
                return try schedule(by: principal)
            }
            return try dispatch(by: principal)
        case .create: return try create(by: principal, session)
        case .drop: return try drop(by: principal, isOperator: isOperator)
        case .cancel: return try cancel(by: principal)
        case .will: return try setWill(by: principal, session)
        default:
            throw RequestError(
                .unknownOp,
                "This request changes nothing on the bus; ask the member that you are connected to.")
        }
    }

    /// What a principal may do under the rules of the bus; nil where there are none, and for daemons.
    func grants(of principal: Principal) -> Grants? {
        guard let rules = machine.access, principal.identity != nil else { return nil }
        if rules !== self.rules { (self.rules, grants) = (rules, [:]) }
        let roles = principal.asker.who["roles"]?.array?.compactMap(\.string) ?? []
        if let known = grants[roles] { return known }
        // Roles are as many as the rules name, but combinations come from members.
        if grants.count > 1024 { grants.removeAll() }
        let made = rules.grants(to: roles)
        grants[roles] = made
        return made
    }

    /// The reply to a request with a key that was committed before.
    func earlier(_ key: KeyedRequest?) throws(RequestError) -> EntryReply? {
        guard let key, !omitted.contains(.keys), let earlier = try machine.duplicate(of: key) else {
            return nil
        }
        var reply = EntryReply(revision: earlier.revision)
        (reply.matched, reply.changed, reply.isDuplicate) = (earlier.matched, earlier.changed, true)
        return reply
    }

    // MARK: - Dispatch

    private func dispatch(by principal: Principal) throws(RequestError) -> EntryReply {
        guard try !request.flag(.dryRun, default: false) else {
            throw .invalid("dryRun", "A dry run commits nothing, so it is no entry of the log.")
        }
        guard !request.present.contains(.timer) else {
            throw .invalid("timer", "`timer` names a dispatch that comes later; say when with `in` or `at`.")
        }
        let expected = try request.integer(.ifRevision)
        let key = try machine.keyed(request, by: principal)
        if let earlier = try earlier(key) { return earlier }
        machine.plan.clear()
        let grants = grants(of: principal)
        try machine.planDispatch(request, expecting: expected, seenBy: grants)
        if let grants { try machine.addConditions(grants) }
        try machine.requireBudget(machine.limits.commit)
        let matched = try machine.apply(by: principal)
        let seen = machine.seenWrites(by: grants)
        sink.commit(by: principal, actions: true, key: key, nil)
        var reply = remember(key, matched: matched, changed: machine.changed)
        reply.seen = seen.map {
            .init(matched: $0.count, changed: machine.changed(of: $0, seenBy: grants))
        }
        return reply
    }

    /// The reply to what was just committed, which its key is remembered with.
    func remember(_ key: KeyedRequest?, matched: Int, changed: Int) -> EntryReply {
        if let key { machine.remember(key, matched: matched, changed: changed) }
        var reply = EntryReply(revision: machine.revision)
        (reply.matched, reply.changed) = (matched, changed)
        return reply
    }
}
