import BusMachine

/// A session as its member calls it.
struct SessionKey: Hashable {
    let member: String
    let number: Int
}

/// Which sessions of the state machine belong to whom, and which wait for their clients.
struct ReplicaSessions {
    /// The session of a client that is connected to a member.
    struct Held: Equatable {
        /// Its session of the state machine, once there was something to leave in it.
        var session: SessionID?
        var name: String?
        /// Milliseconds.
        var linger = 0
        /// Whose name it is.
        var identity: Identity?
        /// Whether its client is an operator, of whose sessions more may wait. Not known of names given by earlier rules.
        var isOperator = false

        fileprivate var fullName: SessionName? { name.map { SessionName(identity, $0) } }
    }

    struct Lingering: Equatable {
        let session: SessionID
        /// In milliseconds since 1970, by the time of the bus.
        let deadline: Int
    }

    private(set) var held: [SessionKey: Held] = [:]
    /// Who holds the sessions with names.
    private var holders: [SessionName: SessionKey] = [:]
    /// By deadline, then by session.
    private(set) var lingering: [Lingering] = []

    var nextDeadline: Int { lingering.first?.deadline ?? .max }

    /// The sessions that somebody holds who is connected to a member, by number.
    func keys(of member: String) -> [SessionKey] {
        held.keys.filter { $0.member == member }.sorted { $0.number < $1.number }
    }

    /// Notes what somebody holds from now on; nil: nothing.
    mutating func hold(_ held: Held?, by key: SessionKey) {
        if let name = self.held[key]?.fullName, holders[name] == key { holders[name] = nil }
        self.held[key] = held
        if let name = held?.fullName { holders[name] = key }
    }

    func holder(of name: SessionName) -> SessionKey? { holders[name] }

    mutating func wait(_ session: SessionID, until deadline: Int) {
        lingering.append(Lingering(session: session, deadline: deadline))
        lingering.sort { ($0.deadline, $0.session) < ($1.deadline, $1.session) }
    }

    mutating func stopWaiting(_ session: SessionID) { lingering.removeAll { $0.session == session } }

    /// The next session that has waited long enough.
    mutating func takeDue(at time: Int) -> SessionID? {
        guard nextDeadline <= time else { return nil }
        return lingering.removeFirst().session
    }
}
