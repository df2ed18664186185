import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Requests about the past: only the log knows it, so it is queried, and the connection waits.
extension Engine {
    /// Reads the commits of the past.
    func history(_ connection: Connection) throws(RequestError) {
        try admission.requireLog()
        let limit = try request.integer(.limit, least: 1) ?? 100
        guard limit <= DaemonLimits.history else {
            throw .invalid(
                "limit", "A reply tells at most \(DaemonLimits.history) commits; ask for more with `since`.")
        }
        let range = try requestedRange()
        let wish = HistoryWish(
            subject: try requestedSubject(connection), by: try requestedAuthors(),
            action: requestedAction, condition: try machine.requestedFilter(in: request))
        clock.work += Work.conditionByte * machine.plan.conditionCache.takeCompiledBytes()
        let view = connection.access.grants.flatMap { $0.knowsEverything ? nil : $0 }
        ask(.history(range, limit: limit, wish, view: view), connection)
    }

    /// The type or the store that a request for commits is about; nil: any.
    private func requestedSubject(_ connection: Connection) throws(RequestError) -> HistorySubject? {
        if request.present.contains(.store) {
            _ = try machine.requireAddress(request.store)
            guard !request.present.contains(.type) else {
                throw .invalid("type", "Give one of `type` and `store`, not both.")
            }
            try commands.require(.history, ofStoreIn: connection.access.grants, "read the history of")
            let store = String(decoding: request.store, as: UTF8.self)
            if let type = machine.unkept(store) { throw machine.gone(type) }
            return historySubject(String(store.prefix { $0 != "/" }), store)
        }
        guard request.present.contains(.type) else { return nil }
        guard Names.isTypeName(request.type) else {
            _ = try machine.requireType(request.type)
            return nil
        }
        let type = String(decoding: request.type, as: UTF8.self)
        // Whoever has no right to a type hears of it what he would hear of one that there never was.
        if let grants = connection.access.grants, !grants.knows(type: type) { return historySubject("") }
        if let type = machine.unkept(type) { throw machine.gone(type) }
        return historySubject(type)
    }

    private func refusal(_ body: () throws(RequestError) -> Void) -> RequestError? {
        do throws(RequestError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    /// What the log keeps by now of the types that match.
    func knownPast(of pattern: AddressPattern) -> KnownPast {
        KnownPast(
            late: machine.keptLate(pattern).map { historySubject($0.name) },
            lost: machine.unkept(of: pattern))
    }

    /// The commits that a request wants to see: from the oldest on, after `since` or `time`, or from the newest back, from
    /// `until` or `time`.
    private func requestedRange() throws(RequestError) -> HistoryRange {
        let order = try request.string(.order) ?? "oldest"
        guard ["oldest", "newest"].contains(order) else {
            throw .invalid("order", "`order` is \"oldest\" or \"newest\": what comes first.")
        }
        var since = try request.integer(.since).map { PastPoint.revision($0) }
        // Commits made while the answer is looked up are not part of it.
        var until = PastPoint.revision(min(try request.integer(.until) ?? machine.revision, machine.revision))
        if let time = try request.time(.time) {
            let other = order == "oldest" ? Member.since : .until
            guard !request.present.contains(other) else {
                throw .invalid("time", "Give one of `\(other)` and `time`, not both.")
            }
            if other == .since { since = .time(time) } else { until = .time(time) }
        }
        return HistoryRange(since: since, until: until, newestFirst: order == "newest")
    }

    /// Who made the commits that a request wants to see: a text, or several.
    private func requestedAuthors() throws(RequestError) -> [String]? {
        guard let value = request.value(.by) else { return nil }
        let texts = (value.array ?? [value]).compactMap(\.string)
        guard texts.count == value.array?.count ?? 1, 1...DaemonLimits.authors ~= texts.count,
            texts.allSatisfy({ 1...DaemonLimits.historyText ~= $0.utf8.count })
        else {
            throw .invalid(
                "by",
                "`by` is a text of 1 to \(DaemonLimits.historyText) bytes, or a list of at most \(DaemonLimits.authors)."
            )
        }
        return texts
    }

    private var requestedAction: String? {
        request.present.contains(.action) ? String(decoding: request.action, as: UTF8.self) : nil
    }

    private func historySubject(_ type: String, _ store: String? = nil) -> HistorySubject {
        let known = machine.types.first { UTF8Order.equal($0.name, type) }
        return HistorySubject(
            type: type, store: store, actions: known?.actionNames,
            sources: (known?.view?.sources ?? []).map { historySubject($0) },
            keptSince: known.map(machine.knownSince) ?? 0)
    }

    /// Which commits last changed a part of a store's state, or each of its members.
    func blame(_ connection: Connection) throws(RequestError) {
        let path = try requestedPath()
        let past = try requestedPast(connection.access.grants)
        let question = try storeQuestion(connection, isPast: past != nil)
        ask(.blame(question, path.map { [$0] }, at: past ?? .revision(machine.revision)), connection)
    }

    /// The values of a part of a store's state over time.
    func samples(_ connection: Connection) throws(RequestError) {
        guard let path = try requestedPath() else {
            throw .invalid("path", "Say in `path` which part of the state, as in \"/target\".")
        }
        let most = try request.integer(.most, least: 1) ?? 100
        guard most <= DaemonLimits.history else {
            throw .invalid(
                "most", "A reply has at most \(DaemonLimits.history) samples; ask for a shorter time.")
        }
        let cause = try request.flag(.cause, default: false)
        let range = try requestedRange()
        if let since = try request.integer(.since), let until = try request.integer(.until), until < since {
            throw .invalid(
                "until", "`until`, \(until), is before `since`, \(since); name the earlier one in `since`.")
        }
        let question = try storeQuestion(connection, isPast: true)
        ask(.samples(question, path, range, most: most, cause: cause), connection)
    }

    /// The store about whose past a request asks.
    private func storeQuestion(
        _ connection: Connection, isPast: Bool
    ) throws(RequestError) -> StoreQuestion {
        try admission.requireLog()
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` whose past is meant.")
        }
        let (grants, subject) = (connection.access.grants, try requestedSubject(connection)!)
        let missing = refusal { () throws(RequestError) in _ = try machine.requireStore(request.store) }
        if !isPast, let missing { throw missing }
        let known = machine.types.first { UTF8Order.equal($0.name, subject.type) }
        return StoreQuestion(
            store: subject.store!, subject: subject, type: known?.type as? DeclaredType,
            view: grants.flatMap { $0.knowsEverything ? nil : $0 }, missing: missing)
    }

    /// The part of a state that a request names; nil without one.
    private func requestedPath() throws(RequestError) -> JSONPointer? {
        guard let text = try request.string(.path) else { return nil }
        guard text.utf8.count <= DaemonLimits.pointerBytes, let path = try? JSONPointer(text) else {
            throw .invalid(
                "path",
                "`path` is a JSON Pointer of at most \(DaemonLimits.pointerBytes) bytes, such as \"/target\"."
            )
        }
        return path
    }

    /// The point of the past that a request names; nil for the present.
    func requestedPast(_ grants: Grants?) throws(RequestError) -> PastPoint? {
        let past: PastPoint
        if let time = try request.time(.time) {
            guard !request.present.contains(.revision) else {
                throw .invalid("time", "Give one of `revision` and `time`, not both.")
            }
            if time >= clock.now { return nil }
            past = .time(time)
        } else {
            guard let revision = try request.integer(.revision), revision != machine.revision else {
                return nil
            }
            past = .revision(revision)
        }
        if let grants, request.present.contains(.store) {
            let address = String(decoding: request.store, as: UTF8.self)
            if let (type, name) = Commands.parts(of: address),
                case .nothing = grants.pastVisibility(of: name, ofType: type)
            {
                throw Commands.forbidden("read the past of", address)
            }
        }
        if case .revision(let revision) = past { try requireHappened(revision) }
        try admission.requireLog()
        return past
    }

    private func requireHappened(_ past: Int) throws(RequestError) {
        guard past <= machine.revision else {
            throw RequestError(
                .conflict,
                "The bus is at revision \(machine.revision); revision \(past) has not happened.")
        }
    }

    /// Reverts a store to an earlier state, as a new commit.
    func revert(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which store to revert.")
        }
        guard let past = try request.integer(.revision) else {
            throw .invalid("revision", "Say in `revision` to which one to go back.")
        }
        let wanted = try machine.requestedPrecondition(in: request)
        try commands.require(.revert, ofStoreIn: connection.access.grants, "revert")
        try commands.requireCondition(ofStoreIn: connection.access.grants)
        try admission.requireLog()
        try admission.requireCommits()
        let (_, index) = try machine.requireStore(request.store)
        // On a shared bus identities are its members', which its log brings along.
        if !shared.isOn { try commands.requireOwnership(of: index, by: caller(of: connection)) }
        // A condition is looked at where the revert is committed.
        try machine.require(wanted.revision, of: index, seenBy: connection.access.grants)
        try requireHappened(past)
        let store = String(decoding: request.store, as: UTF8.self)
        let known = knownPast(of: AddressPattern(type: String(store.prefix { $0 != "/" })))
        if long.mustWait(for: connection.turn.workOfState, connection, currentLine) { return }
        ask(
            .state(revision: past, store: store, known),
            for: .revert(store: store, to: past, where: wanted), connection)
    }

    /// Queries the log for a request.
    func ask(
        _ subject: LogQuery.Subject, for purpose: PendingQuery.Purpose = .reply, _ connection: Connection
    ) {
        queries.ask(subject, for: purpose, id: Array(request.id), connection)
    }

    // MARK: Answers

    /// The log has answered; the connection continues.
    package func answer(_ query: LogQuery, with answer: LogAnswer) {
        guard let (connection, pending) = queries.find(query.number, of: query.connection) else { return }
        if case .revert = pending.purpose {
            pending.answer = answer
            return proceed(connection)
        }
        connection.endQuery()
        // Nothing comes after its goodbye.
        guard !connection.isClosing else { return }
        switch pending.purpose {
        case .reply: reply(answer, pending.id, connection)
        case .actions(let after): hub.takePast(answer, after: after, for: connection)
        case .revert, .reload: break
        }
        connections.markReady(connection)
        proceed(connection)
    }

    /// Reverts a store in the turn of the connection that asked, since that may take long. False while the log has
    /// not answered.
    func makeRevert(for connection: Connection) -> Bool {
        guard let pending = connection.query, let answer = pending.answer,
            case .revert(let store, let revision, let wanted) = pending.purpose
        else { return false }
        connection.endQuery()
        let start = clock.work
        respond(pending.id, connection) { _ throws(RequestError) in
            guard case .state(let state) = answer else { throw Self.refusal(answer) }
            let present = machine.find(store).map { Int(machine.stores.pointer($0).pointee.size) } ?? 0
            clock.work &+= Work.encodedByte * (present + state.state.encodedSize)
            return try make(
                .revert(store, to: revision, where: wanted, state),
                by: connection.access.principal!, for: connection, id: pending.id)
        }
        if clock.isSliceUsedUp { connection.pause() }
        // The cost is not known in advance.
        connection.turn.note(state: clock.work &- start)
        long.noteTime(clock.work &- start)
        return true
    }

    /// Whether a connection still waits for the answer to a query.
    package func isAwaited(_ query: LogQuery) -> Bool {
        queries.isAwaited(query.number, of: query.connection)
    }

    /// Answers a request that has waited; with nil the body has answered it, or it still waits.
    func respond(
        _ id: [UInt8], _ connection: Connection,
        _ body: (UnsafeRawBufferPointer) throws(RequestError) -> CommandReply?
    ) {
        id.withUnsafeBytes { id in
            do throws(RequestError) {
                if let reply = try body(id) { answer(reply, id, connection) }
            } catch {
                replies.refuse(error, for: connection, id: id)
            }
        }
    }

    private func reply(_ answer: LogAnswer, _ id: [UInt8], _ connection: Connection) {
        respond(id, connection) { id throws(RequestError) in
            guard case .members(let members) = answer else { throw Self.refusal(answer) }
            try shares.requireOutput(members.count, for: connection)
            replies.answer(connection, id: id) { writer in members.withUnsafeBytes { writer.append($0) } }
            return nil
        }
    }

    /// Why the log has not given what it was asked for.
    private static func refusal(_ answer: LogAnswer) -> RequestError {
        guard case .refused(let code, let message, let details) = answer else {
            return RequestError(
                .internal, "The log gave another answer than was asked for; report this.")
        }
        var error = RequestError(ErrorCode(rawValue: code) ?? .internal, message)
        for member in details.members { error = error.with(member.key, member.value) }
        return error
    }

    /// There will be no more answers: connections that wait for one get a refusal, before the daemon exits. True if
    /// there were any; then others may have continued, and sent queries in their turn.
    package func refuseQueries() -> Bool {
        var isAny = false
        for case let connection? in connections.all {
            // A query may be followed by another one.
            while !connection.isClosing, let query = connection.query {
                // Past actions not delivered yet are delivered by the next daemon.
                if case .actions = query.purpose { break }
                connection.endQuery()
                isAny = true
                respond(query.id, connection) { _ throws(RequestError) in
                    throw RequestError(.unavailable, "The bus restarts; ask again.")
                }
                connections.markReady(connection)
                serve(connection)
            }
        }
        return isAny
    }
}
