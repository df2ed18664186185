import BusJSON
import BusMachine
import BusProtocol

/// Sessions: opened when there is something to leave, named, taken over, ended.
extension Replica {
    /// The session, opened if need be. One in which nothing is left is not kept: snapshots do not have it.
    func session(_ key: SessionKey, of principal: Principal) -> Session {
        var held = sessions.held[key] ?? .init()
        if let number = held.session, let session = machine.session(number) {
            if !session.isEmpty {
                if machine.rules >= BusLimits.rulesOfSlices { machine.give(session, to: principal) }
                return session
            }
            machine.closeSession(number)
        }
        let session = machine.openSession(principal)
        if let name = held.name { machine.name(session, name, linger: held.linger, principal) }
        held.session = session.id
        sessions.hold(held, by: key)
        return session
    }

    /// The session of somebody, if something is left in it.
    func left(in key: SessionKey) -> Session? {
        sessions.held[key]?.session.flatMap { machine.session($0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Gives a session a name, or gives the one that has it to who asks. True: something was left in it.
    func name(
        _ key: SessionKey, _ name: String, linger: Int, _ principal: Principal, isOperator: Bool
    ) throws(RequestError) -> Bool {
        guard 1...BusLimits.sessionName ~= name.utf8.count, linger <= BusLimits.longestLinger else {
            throw .invalid(
                "session", "`session` has 1 to \(BusLimits.sessionName) bytes, and lingers for a day at most."
            )
        }
        var held = sessions.held[key] ?? .init()
        if let known = held.name, !UTF8Order.equal(known, name) {
            throw .invalid(
                "session", "This connection has the session \(known); open another one for \(name).")
        }
        let own = left(in: key)
        let found = machine.session(named: name, of: principal).flatMap { $0.isEmpty ? nil : $0 }
        if let found, found !== own {
            guard own == nil else {
                throw .invalid(
                    "session",
                    "The session \(name) was left before; say hello with it before a will or an ephemeral store."
                )
            }
            sessions.stopWaiting(found.id)
            closeIfEmpty(held)
            held.session = found.id
        }
        takeName(name, of: principal.identity, for: key)
        (held.name, held.linger, held.identity) = (name, linger, principal.identity)
        held.isOperator = isOperator && machine.rules >= BusLimits.rulesOfOneMeaning
        sessions.hold(held, by: key)
        if let session = left(in: key) {
            machine.name(session, name, linger: linger, principal)
            sink.note(session)
        }
        return found != nil && found !== own
    }

    /// Whoever has had the name before has neither the name nor its session any longer.
    private func takeName(_ name: String, of identity: Identity?, for key: SessionKey) {
        guard let other = sessions.holder(of: SessionName(identity, name)), other != key,
            let held = sessions.held[other]
        else { return }
        closeIfEmpty(held)
        sessions.hold(nil, by: other)
    }

    /// Closes a session in which nothing is left, before nobody has it any more: it would keep its name, and whoever asks for
    /// that would find it in the place of the one in which there is something.
    private func closeIfEmpty(_ held: ReplicaSessions.Held) {
        if let number = held.session, machine.session(number)?.isEmpty == true {
            machine.closeSession(number)
        }
    }

    /// The connection has ended: its session waits for its client, or ends.
    func endSession(_ key: SessionKey) {
        if let session = finish(key) { end(session) }
    }

    /// Nobody holds the session any longer. Returns it if something is left in it and it does not wait for its client.
    private func finish(_ key: SessionKey) -> Session? {
        defer { sessions.hold(nil, by: key) }
        guard let session = left(in: key) else {
            if let held = sessions.held[key] { closeIfEmpty(held) }
            return nil
        }
        guard session.linger > 0, !omitted.contains(.lingering),
            mayLinger(session, isOperator: sessions.held[key]?.isOperator ?? false)
        else { return session }
        sessions.wait(session.id, until: machine.time + session.linger)
        return nil
    }

    /// Whether one more session of a user may wait for its client.
    private func mayLinger(_ session: Session, isOperator: Bool) -> Bool {
        if machine.rules < BusLimits.rulesOfOneMeaning { return true }
        // Some may only wait for the turn in which they end.
        let isCounted: (ReplicaSessions.Lingering) -> Bool = { [machine] in
            machine.rules < BusLimits.rulesOfSlices || $0.deadline > machine.time
        }
        let (all, most) = (sessions.lingering.count(where: isCounted), BusLimits.lingering)
        if all >= most { return false }
        if isOperator || all < most / 2 { return true }
        let own = sessions.lingering.filter(isCounted).count {
            guard let other = machine.session($0.session), !other.isEmpty else { return false }
            return other.principal.identity == session.principal.identity
        }
        return own < BusLimits.share(of: most, taken: all, own: own)
    }

    /// Sessions that nobody holds and that do not wait for their clients: there are none, or a will would never run.
    package var strayedSessions: [SessionID] {
        let known = Set(sessions.held.values.compactMap(\.session) + sessions.lingering.map(\.session))
        return machine.sessionsInOrder.map(\.id).filter { !known.contains($0) }
    }

    /// All sessions of a member end where it does, or are due at once where they are more than one turn may end.
    func endMember(_ member: String) {
        spent = 0
        for session in sessions.keys(of: member).compactMap(finish) {
            if isTurnSpent { sessions.wait(session.id, until: machine.time) } else { endDue(session) }
        }
    }
}
