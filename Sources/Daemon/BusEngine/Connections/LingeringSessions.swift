import BusMachine

/// Sessions whose connections have ended, and which wait for a while before they end too: a client that comes back in
/// time takes its own over.
struct LingeringSessions {
    struct Lingering {
        let session: Session
        /// The connection that is gone; nil where an earlier daemon had it.
        let connection: Connection?
        /// When the session ends, in milliseconds since 1970.
        let deadline: Int
    }

    private var all: [SessionID: Lingering] = [:]
    /// The earliest deadline; nil where none waits.
    private(set) var nextDeadline: Int?

    var count: Int { all.count }

    /// In the order in which the sessions began.
    var inOrder: [Lingering] { all.values.sorted { $0.session.id < $1.session.id } }

    mutating func add(_ session: Session, _ connection: Connection?, until deadline: Int) {
        all[session.id] = Lingering(session: session, connection: connection, deadline: deadline)
        nextDeadline = min(nextDeadline ?? .max, deadline)
    }

    /// A client takes its session over.
    mutating func take(_ id: SessionID) -> Lingering? {
        guard let found = all.removeValue(forKey: id) else { return nil }
        if found.deadline == nextDeadline { findDeadline() }
        return found
    }

    /// Whether any ends now.
    func hasDue(at time: Int) -> Bool { nextDeadline.map { $0 <= time } ?? false }

    /// Those that end now, in the order of their deadlines.
    mutating func take(where isOver: (Lingering) -> Bool) -> [Lingering] {
        let over = all.values.filter(isOver)
        for lingering in over { all[lingering.session.id] = nil }
        findDeadline()
        return over.sorted { ($0.deadline, $0.session.id) < ($1.deadline, $1.session.id) }
    }

    /// The same sessions as another machine has them.
    mutating func adopt(_ adopted: (Session) -> Session) {
        all = all.mapValues {
            let session = adopted($0.session)
            $0.connection?.hold.take(session)
            return Lingering(session: session, connection: $0.connection, deadline: $0.deadline)
        }
    }

    private mutating func findDeadline() { nextDeadline = all.values.lazy.map(\.deadline).min() }
}
