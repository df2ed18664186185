import BusJSON
import BusLogic
import BusProtocol

/// A question that only the log can answer, because the state machine holds the present only.
package struct LogQuery: Sendable {
    package enum Subject: Sendable {
        /// The wanted commits of a range, as far as `view` shows them; nil: a view of everything.
        case history(HistoryRange, limit: Int, HistoryWish, view: Grants?)
        /// The commits that last changed parts of a store's state, of all its members where none are named.
        case blame(StoreQuestion, [JSONPointer]?, at: PastPoint)
        /// The values of a part over time, at most so many; with who set each of them, if that is wanted.
        case samples(StoreQuestion, JSONPointer, HistoryRange, most: Int, cause: Bool)
        /// The answer that a `get` would have had at that point.
        case stores(PastPoint, StoreSelection, KnownPast)
        /// The definitions at that point: of one type, or of all.
        case types(PastPoint, String?, view: Grants?)
        /// The state of a store at a revision.
        case state(revision: Int, store: String, KnownPast)
        /// The entries after a revision, whatever they are.
        case entries(after: Int)
        /// A part of a copy of the log, from so many bytes on; with the first one the copy is made.
        case backup(offset: Int)
        /// The size of the log, once its free pages are given back.
        case compact
    }

    /// The number of the connection that waits.
    package let connection: Int
    /// Distinguishes it from all other queries.
    package let number: Int
    package let subject: Subject
    /// The number of its user: users share the time for such questions.
    package let user: Int
    /// The client that waits.
    package let peer: Peer
    /// It can be answered when commits up to this one are in the log.
    package let needed: Int
    /// How long the answer may be, in bytes.
    package let room: Int
    /// `StateMachine.horizons` when it was asked.
    package let horizons: [String: Int]

    package init(
        connection: Int, user: Int = 0, number: Int, subject: Subject, peer: Peer, needed: Int, room: Int,
        horizons: [String: Int] = [:]
    ) {
        self.connection = connection
        self.user = user
        self.number = number
        self.subject = subject
        self.peer = peer
        self.needed = needed
        self.room = room
        self.horizons = horizons
    }
}

/// Commits after one point up to another, the oldest or the newest first.
package struct HistoryRange: Sendable {
    /// Nil: from the oldest that are kept.
    package let since: PastPoint?
    package let until: PastPoint
    package let isNewestFirst: Bool

    package init(since: PastPoint?, until: PastPoint, newestFirst: Bool = false) {
        (self.since, self.until, isNewestFirst) = (since, until, newestFirst)
    }

    /// Whether it begins at a time.
    package var isByTime: Bool {
        if case .time = isNewestFirst ? until : since { true } else { false }
    }
}

/// The commits that a request asks for. A member that is nil excludes none.
package struct HistoryWish: Sendable {
    package let subject: HistorySubject?
    /// Values, one of which `by` must have.
    package let by: [String]?
    /// What was done: an action's name, or `create`, `drop`, `revert`, `reload`, `schedule`, `cancel`, `timer`.
    package let action: String?
    /// What holds for the payload.
    package let condition: StoreFilter?

    package init(
        subject: HistorySubject? = nil, by: [String]? = nil, action: String? = nil,
        condition: StoreFilter? = nil
    ) {
        (self.subject, self.by, self.action, self.condition) = (subject, by, action, condition)
    }
}

/// The type or the store whose history somebody asks for.
package struct HistorySubject: Sendable {
    package let type: String
    /// Its address; nil: the whole type.
    package let store: String?
    /// The actions of the type, to which a dispatch to every type may have been one; nil where it is not known.
    package let actions: [String]?
    /// The types that a view is made of, whose commits change it.
    package let sources: [HistorySubject]
    /// The revision since which the log keeps all of it; 0: since there is the type.
    package let keptSince: Int

    package init(
        type: String, store: String?, actions: [String]?, sources: [HistorySubject] = [], keptSince: Int = 0
    ) {
        (self.type, self.store, self.actions, self.sources) = (type, store, actions, sources)
        self.keptSince = keptSince
    }
}

/// What the log keeps by now of types, where that is not what it kept at the revision in question.
package struct KnownPast: Sendable {
    /// Those of which it has not always kept everything, but does now.
    package let late: [HistorySubject]
    /// Those that have no past now.
    package let lost: [LostPast]

    package init(late: [HistorySubject], lost: [LostPast]) { (self.late, self.lost) = (late, lost) }
}

/// A type that has no past: what the log keeps of it, and how a question about its past is refused.
package struct LostPast: Sendable {
    package let type: String
    package let keep: LogPolicy
    package let refusal: RequestError

    package init(type: String, keep: LogPolicy, refusal: RequestError) {
        (self.type, self.keep, self.refusal) = (type, keep, refusal)
    }
}

/// A store about whose past somebody asks.
package struct StoreQuestion: Sendable {
    package let store: String
    package let subject: HistorySubject
    /// Its current type; nil if that does not tell which actions change what.
    package let type: DeclaredType?
    /// Who asks; nil: one who may see everything.
    package let view: Grants?
    /// The refusal if the store never existed; nil if it exists now.
    package let missing: RequestError?

    package init(
        store: String, subject: HistorySubject, type: DeclaredType?, view: Grants?,
        missing: RequestError? = nil
    ) {
        (self.store, self.subject, self.type, self.view) = (store, subject, type, view)
        self.missing = missing
    }
}

/// A point of a bus's history.
package enum PastPoint: Sendable, Equatable {
    case revision(Int)
    /// What the last commit at or before this time left, in milliseconds since 1970.
    case time(Int)
}

/// The answer of the log.
package enum LogAnswer: Sendable {
    /// Members of the reply, each with a comma before it.
    case members([UInt8])
    case state(PastState)
    /// Entries, one per line, and the revision up to which they go; and through which revision they may lack what concerns
    /// some types.
    case entries([UInt8], through: Int, horizons: [String: Int])
    /// The entries do not go back that far, only to this revision.
    case gap(oldest: Int)
    /// The code, message and details of an error, as JSON.
    case refused(code: String, message: String, details: JSONObject)
}

/// A store's state in the past, without the values that its type computed then.
package struct PastState: Sendable {
    package let state: JSONObject
    /// The version that its type had.
    package let version: Int
    /// The members that its type named.
    package let named: NamedMembers

    package init(_ state: JSONObject, under definition: JSON) {
        self.state = definition.withoutComputed(state)
        version = definition.definedVersion
        named = NamedMembers(of: definition)
    }

    /// As another machine has found it; nil if that is not what one writes.
    package init?(_ json: JSON) {
        guard let state = json["state"]?.object, let version = json["version"]?.int else { return nil }
        self.state = state
        self.version = version
        named = NamedMembers(
            (json["named"]?.array ?? []).compactMap(\.string), areAll: json["namesAll"]?.bool ?? false)
    }

    /// For another machine.
    package var json: JSON {
        [
            "state": .object(state), "version": .int(version),
            "named": .array(named.names.map(JSON.string)), "namesAll": .bool(named.areAll),
        ]
    }
}
