import BusCluster
import BusJSON
import BusMachine
import BusProtocol

/// A bus that several machines share, as the engine of one member sees it: nothing is committed because a client asks, but
/// because the shared log delivers what some member has proposed.
package final class SharedRequests {
    private let admission: Admission
    private let connections: Connections
    private let users: Users
    private let outputs: Outputs

    /// Whether the bus is shared.
    @exclusivity(unchecked) private(set) var isOn = false
    /// What replies tell of the member of a shared bus: its bus, its name, and whether it reaches the log.
    private(set) var condition: JSONObject?
    /// Whether a token is that of a member.
    private(set) var isMember: (String) -> Bool = { _ in false }

    private struct EndedSession {
        let entry: ClusterEntry
        let user: Int
    }

    private var lastTicket = 0
    private var lastSession = 0
    /// Whose the requests are that are on their way.
    private var owners: [Int: ConnectionID] = [:]
    /// Ends of sessions that are on their way, by ticket: they are tried until they have come through.
    private var ends: [Int: EndedSession] = [:]
    /// Those that are to be asked for again.
    private var failedEnds: [EndedSession] = []
    /// The tickets of subscriptions that go on from later than this member is, and whose barriers have failed.
    private var failedResumptions: Set<Int> = []
    /// What the daemon itself has asked for, by ticket.
    private var own: [Int: String] = [:]

    init(_ admission: Admission, _ connections: Connections, _ users: Users, _ outputs: Outputs) {
        self.admission = admission
        self.connections = connections
        self.users = users
        self.outputs = outputs
    }

    func begin(_ condition: JSONObject, isMember: @escaping (String) -> Bool) {
        (isOn, self.condition, self.isMember) = (true, condition, isMember)
    }

    /// What replies tell of the member has changed.
    package func note(_ condition: JSONObject) { self.condition = condition }

    private func takeTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    // MARK: Clients

    /// Proposes a command to all members; its client is answered when the log has come to it, with so many bytes at least.
    func submit(
        _ command: ClusterEntry.Command, as kind: PendingEntry.Kind = .command, for connection: Connection,
        id: [UInt8], answer bytes: Int = 0
    ) throws(RequestError) {
        do throws(RequestError) {
            try admission.requireCommits()
        } catch {
            throw error.with("outcome", .string(MemberFailure.Outcome.none.rawValue))
        }
        let principal = connection.access.principal!
        // The number of a session, unlike a connection's, is never used again.
        connection.hold.begin {
            lastSession += 1
            return lastSession
        }
        let entry = ClusterEntry(
            session: connection.hold.number, by: principal.by,
            isOperator: admission.isOperator(principal), command)
        guard entry.size + ClusterEntry.overhead <= ClusterLimits.proposal else {
            throw RequestError(
                .tooLarge,
                "A request to a bus of several machines has at most \(ClusterLimits.proposal - ClusterEntry.overhead) bytes with what says who asks; send less at once."
            )
        }
        let ticket = wait(for: kind, connection, id: id, bytes: entry.size + bytes)
        outputs.add(.entry(entry, ticket: ticket, user: connection.user.number))
    }

    /// Answers a request when everything that anybody was answered before is applied here.
    func awaitBarrier(
        _ kind: PendingEntry.Kind, _ connection: Connection, id: UnsafeRawBufferPointer, bytes: Int
    ) {
        let ticket = wait(for: kind, connection, id: Array(id), bytes: bytes)
        outputs.add(.barrier(ticket: ticket))
    }

    private func wait(
        for kind: PendingEntry.Kind, _ connection: Connection, id: [UInt8], bytes: Int
    ) -> Int {
        let ticket = takeTicket()
        owners[ticket] = connection.id
        connection.add(PendingEntry(ticket: ticket, id: id, kind: kind, bytes: bytes))
        return ticket
    }

    /// A connection has ended: so does its session, if it has left something there.
    func leave(_ connection: Connection) {
        for ticket in connection.entries?.tickets ?? [] {
            owners[ticket] = nil
            failedResumptions.remove(ticket)
        }
        guard connection.hold.hasLeft, let principal = connection.access.principal else { return }
        connections.countWill(0, of: connection)
        submitEnd(
            EndedSession(
                entry: ClusterEntry(session: connection.hold.number, by: principal.by, .sessionEnded),
                user: connection.user.number))
    }

    private func submitEnd(_ end: EndedSession) {
        let ticket = takeTicket()
        ends[ticket] = end
        outputs.add(.entry(end.entry, ticket: ticket, user: end.user))
    }

    /// Asks again for what has to come through. Not at once: while the shared log takes nothing, it would fail again in the
    /// same turn, for ever.
    package func submitFailedAgain() {
        let (ends, resumptions) = (failedEnds, failedResumptions)
        (failedEnds, failedResumptions) = ([], [])
        for end in ends { submitEnd(end) }
        for ticket in resumptions.sorted() { outputs.add(.barrier(ticket: ticket)) }
    }

    // MARK: Hand-over

    /// Whether nothing of any client is on its way.
    package var isAtRest: Bool { owners.isEmpty && ends.isEmpty && failedEnds.isEmpty && own.isEmpty }

    func handOver(_ member: StateTransfer.Member, to writer: RecordWriter) {
        writer.record("member") { record in
            record("lease", .int(member.lease))
            record("place", .int(member.place))
            record("lastSession", .int(lastSession))
        }
    }

    func takeOver(_ record: TransferRecord) throws(TransferFailure) {
        lastSession = try record.integer("lastSession")
    }

    // MARK: The daemon itself

    /// The daemon itself wants something: a configured store, types.
    package func submitOwn(_ command: ClusterEntry.Command, _ what: String) {
        let ticket = takeTicket()
        own[ticket] = what
        outputs.add(
            .entry(
                ClusterEntry(session: 0, by: ClusterEntry.daemon, isOperator: true, command), ticket: ticket,
                user: users.daemon.number))
    }

    /// Creates a store of the configuration where it is missing. It stays, also where its type gives stores a lease.
    package func submitConfigured(_ store: String) {
        let request: JSONObject = [
            "op": "create", "store": .string(store), "ifMissing": true, "ttl": .null,
        ]
        submitOwn(.request(Array(request.encoded.utf8)), "the store \(store)")
    }

    /// Whether something that the daemon itself has asked for is still on its way.
    package var awaitsOwn: Bool { !own.isEmpty }

    // MARK: Outcomes

    /// Something has come of a request, by the ticket that it had, with the machine at this revision. Returns the connection that
    /// it was of; nil also where its client has to wait on.
    func resolve(_ ticket: Int, _ outcome: EntryResolution, at revision: Int) -> Connection? {
        if let id = owners[ticket] {
            let connection = connections.find(id)
            var outcome = outcome
            if case .failed = outcome, let connection, let since = connection.entries?.resumption(ticket) {
                if since <= revision {
                    outcome = .synced
                } else if !connection.isLost {
                    // What its client has seen is in the log. From here it would go back.
                    failedResumptions.insert(ticket)
                    return nil
                }
            }
            owners[ticket] = nil
            connection?.resolve(ticket, outcome)
            return connection
        } else if let end = ends.removeValue(forKey: ticket) {
            // Where it is not known whether it came through, once more does no harm.
            if case .failed = outcome { failedEnds.append(end) }
        } else if let what = own.removeValue(forKey: ticket) {
            noteOwn(what, outcome)
        }
        return nil
    }

    private func noteOwn(_ what: String, _ outcome: EntryResolution) {
        let reason: String
        switch outcome {
        case .outcome(.done, _), .synced: return
        // Another member was first.
        case .outcome(.refused(let error), _) where error.code == .conflict: return
        case .outcome(.refused(let error), _): reason = error.message
        case .failed(let failure): reason = failure.message
        }
        outputs.report(
            Diagnostic(
                kind: .reloadRefused, level: .error, message: "The bus does not take \(what): \(reason)"))
    }
}

/// A question about the members of the bus, for the owner of the engine: `answer(_:with:)` brings the answer.
package struct ClusterQuery: Sendable {
    package enum Subject: Sendable {
        /// `isWhole`: with what depends on all that is in the log.
        case members(isWhole: Bool)
        /// The member is to leave the bus, and the daemon to end.
        case leave
        /// A part of a snapshot of the replica, from this byte on.
        case replica(offset: Int)
        /// What stands in the shared log behind a place, once there is something.
        case log(since: Int)
    }

    package let connection: ConnectionID
    /// The connection's serial number, which no later one has.
    package let client: Int
    package let number: Int
    package let subject: Subject
    /// How many bytes the members of the reply may take, so that it fits into a line.
    package let room: Int
    /// Another member asks, which needs no right.
    let isOfMember: Bool
}
