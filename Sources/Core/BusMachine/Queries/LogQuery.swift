import BusJSON

/// What the log has to be asked, because the state machine holds the present only.
package struct LogQuery: Sendable {
    package enum Subject: Sendable {
        /// Commits after `since` up to `until`, those that concern a type or a store.
        case history(since: Int?, until: Int, limit: Int, type: String?, store: String?)
        /// What a `get` would have been answered at a revision.
        case stores(revision: Int, StoreSelection)
        /// The definitions of a revision: of one type, or of all.
        case types(revision: Int, String?)
        /// The state of a store at a revision.
        case state(revision: Int, store: String)
        /// The entries after a revision, whatever they are.
        case entries(after: Int)
    }

    /// The number of the connection that asks.
    package let connection: Int
    /// Tells it from all others.
    package let number: Int
    package let subject: Subject
    /// Who asks.
    package let peer: Peer
    /// It can be answered when commits up to this one stand in the log.
    package let needed: Int
    /// How long the answer may be, in bytes.
    package let room: Int

    package init(connection: Int, number: Int, subject: Subject, peer: Peer, needed: Int, room: Int) {
        self.connection = connection
        self.number = number
        self.subject = subject
        self.peer = peer
        self.needed = needed
        self.room = room
    }
}

/// What the log says.
package enum LogAnswer: Sendable {
    /// Members of the reply, each with a comma before it.
    case members([UInt8])
    case state(JSONObject)
    /// Entries, one per line, and the revision up to which they go.
    case entries([UInt8], through: Int)
    /// They do not go back so far, but to this revision.
    case gap(oldest: Int)
    /// The code and sentence of an error, and details, as JSON.
    case refused(code: String, message: String, details: JSONObject)
}
