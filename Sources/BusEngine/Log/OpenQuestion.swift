import BusJSON

/// What the log has to be asked, because the engine holds the present only.
package struct LogQuestion: Sendable {
    package enum Subject: Sendable {
        /// Commits after `since` up to `until`, those that concern a type or a store.
        case history(since: Int?, until: Int, limit: Int, type: String?, store: String?)
        /// What a request that reads would have been answered at a revision: the request without `id` and `revision`.
        case past(revision: Int, request: [UInt8])
        /// The state of a store at a revision.
        case state(revision: Int, store: String)
        /// The entries after a revision, whatever they are.
        case entries(after: Int)
    }

    package let connection: ConnectionID
    /// Tells it from all others.
    package let number: Int
    package let subject: Subject
    /// Who asks.
    package let peer: Peer
    /// It can be answered when commits up to this one stand in the log.
    package let needed: Int
    /// How long the answer may be, in bytes.
    package let room: Int
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

/// A question that a connection waits for.
struct OpenQuestion {
    let number: Int
    /// The request's `id`, as it stood there.
    let id: [UInt8]
    let purpose: Purpose

    /// Nothing comes of it but what its connection is told.
    var isRead: Bool { if case .revert = purpose { false } else { true } }

    enum Purpose {
        case reply
        case revert(store: String, to: Int, expected: Int?)
        case actions(Subscription)
    }
}
