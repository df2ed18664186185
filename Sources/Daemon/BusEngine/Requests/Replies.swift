import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Writes what requests are answered: what came of them, or why they are refused.
final class Replies {
    private let machine: StateMachine
    private let request: RequestReader
    private let clock: TurnClock
    private let connections: Connections
    private let hub: SubscriptionHub
    private let shares: FairShares
    private let access: AccessControl
    private let statistics: Statistics
    private let shared: SharedRequests
    /// Scratch space for a reply that may prove too long.
    private let scratch = ByteWriter(capacity: 4096)

    init(
        _ machine: StateMachine, _ request: RequestReader, _ clock: TurnClock, _ connections: Connections,
        _ hub: SubscriptionHub, _ shares: FairShares, _ access: AccessControl, _ statistics: Statistics,
        _ shared: SharedRequests
    ) {
        self.machine = machine
        self.request = request
        self.clock = clock
        self.connections = connections
        self.hub = hub
        self.shares = shares
        self.access = access
        self.statistics = statistics
        self.shared = shared
    }

    /// The longest line.
    private var longest: Int { connections.limits.line }

    // MARK: What came of it

    /// Writes a reply; `body` adds members, each with a comma before it.
    func answer(_ connection: Connection, id: UnsafeRawBufferPointer, _ body: (ByteWriter) -> Void) {
        connections.reply(to: connection) { writer in
            writer.append(successOf: id)
            body(writer)
            writer.appendEndOfReply()
        }
    }

    /// Answers the present request with nothing but what condition its member is in, where the bus is shared.
    func answerPing(_ connection: Connection) {
        answer(connection, id: request.id) { appendCondition(to: $0) }
    }

    /// Of a shared bus: which member this is, and whether it reaches the others.
    func appendCondition(to writer: ByteWriter) {
        if let condition = shared.condition { writer.append(",\"cluster\":", jsonObject: condition) }
    }

    /// Writes a reply that may prove too long; `body` returns false as soon as it has written too much.
    func answerWithinLine(
        _ connection: Connection, id: UnsafeRawBufferPointer, _ body: (ByteWriter) -> Bool
    ) throws(RequestError) {
        scratch.clear()
        defer {
            clock.work += scratch.count * Work.encodedByte
            if scratch.reserved > 4 * longest { scratch.shrink() }
        }
        guard body(scratch), scratch.count + id.count + 32 <= longest else {
            throw RequestError(
                .tooLarge,
                "The reply would be longer than a line of \(longest) bytes; ask for less with limit, select or store."
            )
        }
        try shares.requireOutput(scratch.count, for: connection)
        let bytes = scratch.bytes
        connections.reply(to: connection) { writer in
            writer.reserve(bytes.count + id.count + 32)
            writer.append(successOf: id)
            writer.append(bytes)
            writer.appendEndOfReply()
        }
    }

    /// Writes how many stores the present dispatch matched and changed, and what it returns.
    func answer(
        _ connection: Connection, revision: Int, matched: Int, changed: Int, returned: JSONObject?,
        isDuplicate: Bool
    ) {
        answer(
            connection, id: request.id, revision: revision, matched: matched, changed: changed,
            returned: returned, isDuplicate: isDuplicate)
    }

    private func answer(
        _ connection: Connection, id: UnsafeRawBufferPointer, revision: Int, matched: Int, changed: Int,
        returned: JSONObject?, isDuplicate: Bool
    ) {
        if let returned {
            return answer(connection, id: id) { writer in
                writer.append(revision: revision)
                writer.append(",\"matched\":", decimal: matched)
                writer.append(",\"changed\":", decimal: changed)
                append(returned, to: writer, beside: id)
                if isDuplicate { writer.appendDuplicate() }
            }
        }
        answer(
            connection, id: id, revision: revision, matched: matched, changed: changed,
            isDuplicate: isDuplicate)
    }

    /// The same for one that returns nothing.
    func answer(
        _ connection: Connection, revision: Int, matched: Int, changed: Int, isDuplicate: Bool
    ) {
        answer(
            connection, id: request.id, revision: revision, matched: matched, changed: changed,
            isDuplicate: isDuplicate)
    }

    @inline(__always)
    private func answer(
        _ connection: Connection, id: UnsafeRawBufferPointer, revision: Int, matched: Int, changed: Int,
        isDuplicate: Bool
    ) {
        connections.reply(to: connection) { writer in
            writer.append(
                outcomeOf: id, revision: revision, kept: hub.revisionDigits, matched: matched,
                changed: changed, isDuplicate: isDuplicate)
        }
    }

    /// Writes what a dispatch returns. It has room on a line, unless the request's id takes it.
    private func append(_ returned: JSONObject, to writer: ByteWriter, beside id: UnsafeRawBufferPointer) {
        let mark = writer.count
        for member in returned.members {
            writer.append(",")
            writer.append(quoted: member.key)
            writer.append(":", json: member.value)
        }
        let written = writer.count - mark
        clock.work += written * Work.encodedByte
        if written + id.count + DaemonLimits.eventOverhead / 2 > longest { writer.truncate(to: mark) }
    }

    /// Writes the reply of a command, on one machine and on a shared bus alike.
    ///
    /// - Parameter greeting: Appends what is said to a client that has named its session.
    func answer(
        _ reply: CommandReply, _ id: UnsafeRawBufferPointer, _ connection: Connection,
        greeting: (ByteWriter) -> Void
    ) {
        if reply.isDuplicate { statistics.noteDuplicate() }
        if reply.contents == .outcome { connection.input.noteDispatch() }
        if !reply.isAcknowledged { return }
        switch reply.contents {
        case .outcome where reply.told != nil: answerTelling(connection, id, reply)
        case .outcome:
            answer(
                connection, id: id, revision: reply.revision, matched: reply.seen?.matched ?? reply.matched,
                changed: reply.seen?.changed ?? reply.changed, returned: reply.returned,
                isDuplicate: reply.isDuplicate)
        case .revision:
            answer(connection, id: id) { writer in
                writer.append(revision: reply.revision)
                if let timer = reply.timer { writer.append(",\"timer\":", quoted: timer) }
                if let due = reply.due { writer.append(",\"due\":", json: DurationText.seconds(due)) }
                if let created = reply.created { writer.append(created: created) }
                writer.append(reply.migrations)
                writer.append(restart: reply.restart)
                if reply.isDuplicate { writer.appendDuplicate() }
            }
        case .greeting: answer(connection, id: id, greeting)
        case .nothing: answer(connection, id: id) { _ in }
        }
    }

    /// What the reply to a dispatch has at most besides its `id` and what it tells, in bytes.
    private static let outcomeOverhead = 160

    /// The reply to a dispatch that tells what it has changed. It is committed: what does not fit is left out, and the client
    /// told so.
    private func answerTelling(
        _ connection: Connection, _ id: UnsafeRawBufferPointer, _ reply: CommandReply
    ) {
        var members = reply.told?.members
        if let told = members,
            told.count + id.count + Self.outcomeOverhead > longest
                || !shares.mayHold(told.count, for: connection)
        {
            members = nil
        }
        // What it returns comes first: it is nowhere else to be had.
        let returned = reply.returned
        if let returned, let told = members,
            told.count + returned.encodedSize + id.count + DaemonLimits.eventOverhead / 2 > longest
        {
            members = nil
        }
        // Each store of them takes some bytes.
        let count = members?.count ?? longest
        clock.work += count * Work.encodedByte + min(reply.matched, count / 16) * Work.dryRunStore
        answer(connection, id: id) { writer in
            writer.append(revision: reply.revision)
            writer.append(",\"matched\":", decimal: reply.seen?.matched ?? reply.matched)
            writer.append(",\"changed\":", decimal: reply.seen?.changed ?? reply.changed)
            if let returned { append(returned, to: writer, beside: id) }
            if let members {
                members.withUnsafeBytes { writer.append($0) }
            } else {
                writer.append(",\"omitted\":true")
            }
        }
    }

    /// The reply to a dry run: what the applied plan would change.
    func answerDryRun(
        _ connection: Connection, _ reply: CommandReply, _ changes: ToldChanges
    ) throws(RequestError) {
        try answerWithinLine(connection, id: request.id) { writer in
            writer.append(revision: machine.revision)
            writer.append(",\"matched\":", decimal: reply.matched)
            writer.append(",\"changed\":", decimal: changes.changed)
            if let returned = reply.returned { append(returned, to: writer, beside: request.id) }
            if changes.size <= longest { changes.append(to: writer) }
            return max(writer.count, changes.size) <= longest
        }
    }

    // MARK: Refusals

    /// `isPresent`: it is the request that was read last. Others are gone, so what they named is not looked up in it.
    func refuse(
        _ refusal: RequestError, for connection: Connection,
        id: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isPresent: Bool = false
    ) {
        // For a client that is not identified, everything but hello is the same mistake, unless there is no room for it.
        let isKnown = connection.access.principal != nil || hasCertificate(connection, at: refusal)
        let mayBeTold = isKnown || refusal.code == .unauthorized || refusal.code == .limit
        let error = disclosed(
            mayBeTold ? refusal : Admission.unknownClient, to: connection, isPresent: isPresent)
        if error.code == .forbidden { access.noteDenial(error, of: connection) }
        statistics.count(error.code)
        clock.work += Work.refusal
        // Both may quote what the client sent, and a reply must fit into a line.
        let room = max(0, (longest - id.count) / 2 - DaemonLimits.eventOverhead / 4)
        connections.reply(to: connection) { writer in
            writer.append(
                refusalOf: id, error, message: min(DaemonLimits.message, room),
                detail: min(DaemonLimits.detail, room))
        }
        if isKnown { return }
        if refusal.code == .limit { return hub.close(connection, .limit, refusal.message) }
        hub.close(connection, .protocol, "A TCP connection begins with hello and a token of the bus.")
    }

    /// Whether a client that is not identified yet may go on after a refusal, because its certificate will do. After a wrong
    /// token it may not: each connection is one guess.
    private func hasCertificate(_ connection: Connection, at refusal: RequestError) -> Bool {
        if case .tcp(_, .some) = connection.peer { refusal.code != .unauthorized } else { false }
    }

    /// What a client may know of a refusal: nothing of types that it has nothing to do with, and nothing of states that it
    /// may not read.
    private func disclosed(
        _ error: RequestError, to connection: Connection, isPresent: Bool
    ) -> RequestError {
        guard let grants = connection.access.grants else { return error }
        if let withoutState = error.withoutState {
            let whole = error.detail("store").flatMap(Commands.parts(of:)).map {
                grants.showsWhole($0.name, ofType: $0.type)
            }
            return whole == true ? error : withoutState
        }
        guard error.code == .unknownType, !grants.mayManage else { return error }
        guard isPresent else { return .unknown(type: "of this name") }
        let type =
            request.present.contains(.type)
            ? String(decoding: request.type, as: UTF8.self)
            : Commands.parts(of: String(decoding: request.store, as: UTF8.self))?.type
        return .unknown(type: type ?? "of this name")
    }

    /// Refuses the present request, behind the answers to those before it. `isKnown`: it could be read so far that its `id`
    /// is known.
    func refuseInTurn(_ error: RequestError, for connection: Connection, isKnown: Bool = false) {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        if !connection.hasEntries {
            return refuse(error, for: connection, id: isKnown ? request.id : none, isPresent: isKnown)
        }
        connection.add(
            PendingEntry(
                ticket: 0, id: isKnown ? Array(request.id) : [], kind: .refused, bytes: 0,
                outcome: .outcome(.refused(disclosed(error, to: connection, isPresent: isKnown)), spent: 0)))
    }
}

extension RequestError {
    /// As for a type that does not exist.
    static func unknown(type: String) -> RequestError {
        RequestError(
            .unknownType,
            "There is no state type \(type.shortened(to: 80)) that you may use; types lists them.")
    }
}

extension Grants {
    /// Throws as for a type that does not exist, if a pattern names one that the client has nothing to do with.
    func requireKnown(_ pattern: AddressPattern) throws(RequestError) {
        guard pattern.type.isLiteral else { return }
        let type = String(decoding: pattern.type.pattern, as: UTF8.self)
        guard knows(type: type) else { throw .unknown(type: type) }
    }
}

extension ByteWriter {
    /// The member that tells which types have changed their version.
    func append(_ migrations: [Redefinition.Migration]) {
        if migrations.isEmpty { return }
        append(",\"migrated\":")
        append(
            jsonArray: migrations.map {
                [
                    "type": .string($0.type), "from": .int($0.from), "to": .int($0.to),
                    "stores": .int($0.stores),
                ]
            })
    }

    /// The member that tells which settings only a restart takes.
    func append(restart names: [String]) {
        if !names.isEmpty { append(",\"restart\":", json: .array(names.map(JSON.string))) }
    }
}
