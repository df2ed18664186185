import BusJSON
import BusLogic
import BusProtocol

/// Sessions begin and end; the end is a commit.
extension StateMachine {
    /// Begins a session.
    package func openSession(_ principal: Principal) -> Session { openSession(sessions.next, principal) }

    /// Begins a session with a number that was assigned before, by this state machine or in the log.
    package func openSession(_ number: SessionID, _ principal: Principal) -> Session {
        sessions.open(number, principal)
    }

    package func session(_ number: SessionID) -> Session? { sessions[number] }

    /// All sessions in the order in which they began.
    package var sessionsInOrder: [Session] { sessions.inOrder }

    /// Removes a session that has ended, or that has left nothing.
    package func closeSession(_ number: SessionID) { sessions.close(number) }

    /// This machine's copy of a session, which may be older than the other machine's: its stores are those that exist
    /// here, its will is the one left last.
    package func adopt(_ session: Session) -> Session {
        let own = sessions[session.id] ?? openSession(session.id, principal(known: session.principal))
        own.will = session.will
        own.isLogged = own.isLogged || session.isLogged
        let principal = principal(known: session.principal)
        sessions.change(own) {
            ($0.name, $0.linger, $0.principal) = (session.name, session.linger, principal)
        }
        return own
    }

    package var sessionCount: Int { sessions.count }

    /// The session that a client of this identity has given a name, if there is something left in it. The newest, as after a
    /// crash there may be one more that was about to end.
    package func session(named name: String, of principal: Principal) -> Session? {
        sessions.newest(SessionName(principal.identity, name))
    }

    /// Names a session, which is its client's from now on.
    package func name(_ session: Session, _ name: String, linger: Int, _ principal: Principal) {
        sessions.change(session) { ($0.name, $0.linger, $0.principal) = (name, linger, principal) }
    }

    /// Nobody takes over a session that is about to end.
    package func giveUpName(of session: Session) {
        sessions.change(session) { ($0.name, $0.linger) = (nil, 0) }
    }

    /// Takes over what a record of the log or of a snapshot says of a session's name.
    func name(_ session: Session, by record: JSONObject) {
        sessions.change(session) {
            $0.name = record["session"]?.string
            $0.linger = min(max(0, record["linger"]?.int ?? 0), BusLimits.longestLinger)
        }
    }

    /// Who leaves something in a session again may have other roles than before.
    package func give(_ session: Session, to principal: Principal) {
        sessions.change(session) { $0.principal = principal }
    }

    /// Replaces a session's will.
    package func setWill(_ will: [WillAction], of session: Session) { session.will = will }

    /// Whether a number can be a session's: stores record it.
    package static func isSession(_ number: Int) -> Bool { 0...(1 << 53) ~= number }

    // MARK: Wills

    /// Checks what can be known of a will's action now: names and payload.
    package func willAction(_ element: BatchElement) throws(RequestError) -> WillAction {
        try element.withNames { (target, action) throws(RequestError) in
            if !element.isStore, target.count == 1, target[0] == UInt8(ascii: "*") {
                plan.clear()
                defer { plan.clear() }
                try planElement(element)
                return try requireNothingRedacted()
            }
            let name = element.isStore ? try requireAddress(target).type : target
            let entry = try requireType(name)
            let index = try requireAction(action, of: entry)
            _ = try accept(element.payload, for: index, of: entry)
            try requireNothingRedacted(in: index, of: entry)
        }
        return WillAction(
            store: element.isStore ? element.target : nil, type: element.isStore ? nil : element.target,
            action: element.action, payload: element.payload)
    }

    /// Throws where an action that is planned for later has members to redact, which would be kept until then.
    package func requireNothingRedacted() throws(RequestError) {
        for step in plan.steps.elements { try requireNothingRedacted(in: step.action, of: step.type) }
    }

    private func requireNothingRedacted(in action: Int, of entry: TypeEntry) throws(RequestError) {
        guard let name = entry.redacted(of: action).first else { return }
        throw .invalid(
            "action",
            "\(entry.actionName(action)) has payload.\(name), of which the bus keeps only a digest; dispatch it at once, without `in`, `at` or a will."
        )
    }

    /// Plans a will. Throws where it can't be planned any more, with nothing planned.
    package func planWill(of session: Session) throws(RequestError) {
        plan.clear()
        do throws(RequestError) {
            for action in session.will { try planElement(BatchElement(action)) }
        } catch {
            plan.clear()
            throw error
        }
    }

    /// The stores that a session's end drops, by the names of their types and in the order of creation. Each record is looked up
    /// once, and not for every comparison.
    package func drops(of session: Session) -> [Int32] {
        if session.ephemeralStores.count < 2 { return Array(session.ephemeralStores) }
        var ranks = Array(types.indices)
        if rules >= BusLimits.rulesOfCopies {
            for (rank, entry) in typesInOrder.enumerated() { ranks[Int(entry.index)] = rank }
        }
        var places = session.ephemeralStores.map { index in
            let record = stores.pointer(index)
            return (ranks[Int(record.pointee.type)] << 32 | Int(record.pointee.place), index)
        }
        places.sort { $0.0 < $1.0 }
        return places.map(\.1)
    }
}
