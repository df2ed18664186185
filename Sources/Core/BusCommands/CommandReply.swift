import BusJSON
import BusMachine
import BusProtocol

/// The result of a command, and what its client receives of it.
package struct CommandReply: Equatable, Sendable {
    /// What the reply holds besides `created`, `due`, `migrations` and `restart`, which are told where they are known.
    package enum Contents: Sendable {
        case nothing, revision
        /// How many stores a dispatch matched and changed.
        case outcome
        /// All that is said to a client that has named its session.
        case greeting
    }

    package var contents: Contents
    /// False if the client asked for no acknowledgement: it hears only of refusals.
    package var isAcknowledged = true
    /// Of the commit; of what is no commit, the revision behind which it took effect.
    package var revision: Int
    package var matched = 0
    package var changed = 0
    /// Both counts for the stores that the caller sees; nil: all stores, or no longer known.
    package var seen: Seen?
    /// What a dispatch returns, as far as the caller sees it: `result`, or `results` by address.
    package var returned: JSONObject?
    /// Of a create: whether the store is new.
    package var created: Bool?
    /// It repeats an earlier request, whose reply this is.
    package var isDuplicate = false
    /// Of a dispatch that comes later: its timer, and when that is due.
    package var timer: String?
    package var due: Int?
    /// Nothing is committed: what would have changed is applied, and has to be rolled back.
    package var isRehearsal = false
    /// How the caller wants to be told of the changes, and the changes, if they were committed.
    package var form: ToldForm?
    package var told: Told?
    /// Of a session that was named: whether there was something left in it.
    package var isResumed = false
    /// Of new definitions: the types whose stores have changed from one version to another.
    package var migrations: [Redefinition.Migration] = []
    /// Of a reload: the settings of the daemon that was asked that only a restart takes.
    package var restart: [String] = []

    package init(_ contents: Contents = .revision, revision: Int) {
        (self.contents, self.revision) = (contents, revision)
    }

    /// What a dispatch has changed, as far as its caller sees it: members of the reply.
    package struct Told: Equatable, Sendable {
        /// Nil where it is more than a reply can hold.
        package let members: [UInt8]?

        package init(_ changes: ToldChanges, atMost room: Int) {
            let writer = ByteWriter()
            if changes.size <= room { changes.append(to: writer) }
            members = withExtendedLifetime(writer) { changes.size <= room ? Array($0.bytes) : nil }
        }
    }

    package struct Seen: Equatable, Sendable {
        package let matched: Int
        package let changed: Int

        package init(matched: Int, changed: Int) {
            self.matched = matched
            self.changed = changed
        }
    }
}

extension ToldChanges {
    /// Appends `,"changes":{…},"states":{…},"dropped":[…]`: the first as asked for, the others where there are some.
    package func append(to writer: ByteWriter) {
        if form == .changes { writer.append(.changes, merges.bytes) }
        if form == .states || !states.isEmpty { writer.append(.states, states.bytes) }
        if !dropped.isEmpty { writer.append(.dropped, dropped.bytes) }
    }
}

/// The outcome of an entry of a shared log, equal on every member.
package enum CommandOutcome: Sendable {
    case done(CommandReply)
    case refused(RequestError)
}
