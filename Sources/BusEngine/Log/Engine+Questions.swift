import BusJSON
import BusLogic
import BusProtocol

/// What only the log knows is asked of it; the connection waits, the others go on.
extension Engine {
    /// Reads the commits of the past.
    func history(_ connection: Connection) throws(RequestError) {
        try requireLog()
        let since = try request.integer(.since)
        let until = try request.integer(.until)
        let limit = try request.integer(.limit, least: 1) ?? 100
        guard limit <= Limits.history else {
            throw .invalid(
                "limit", "A reply tells at most \(Limits.history) commits; ask for more with `since`.")
        }
        var (type, store): (String?, String?)
        if request.present.contains(.type) {
            guard Names.isTypeName(request.type) else { _ = try requireType(request.type); return }
            type = String(decoding: request.type, as: UTF8.self)
        }
        if request.present.contains(.store) {
            _ = try requireAddress(request.store)
            store = String(decoding: request.store, as: UTF8.self)
        }
        guard type == nil || store == nil else {
            throw .invalid("type", "Give one of `type` and `store`, not both.")
        }
        // What happens while the answer is looked for is not part of it.
        let last = min(until ?? revision, revision)
        try ask(
            .history(since: since, until: last, limit: limit, type: type, store: store), .reply, connection)
    }

    /// A request that reads, of a past revision: true when it was passed on to the log.
    func askPast(_ connection: Connection) throws(RequestError) -> Bool {
        guard let past = try request.integer(.revision), past != revision else { return false }
        guard past < revision else {
            throw RequestError(
                .conflict, "The bus is at revision \(revision); revision \(past) has not happened.")
        }
        try requireLog()
        guard var members = (try? JSON(parsing: currentLine))?.object else { return false }
        members["id"] = nil
        members["revision"] = nil
        let line = Array(JSON.object(members).encoded.utf8)
        try ask(.past(revision: past, request: line), .reply, connection)
        return true
    }

    /// Gives a store the state it had, as a new commit.
    func revert(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which store to revert.")
        }
        guard let past = try request.integer(.revision) else {
            throw .invalid("revision", "Say in `revision` to which one to go back.")
        }
        let expected = try request.integer(.ifRevision)
        try requireLog()
        try requireRoom()
        let (_, index) = try requireStore(request.store)
        try permitDrop(of: index, by: connection)
        try expect(expected, of: index)
        guard past <= revision else {
            throw RequestError(
                .conflict, "The bus is at revision \(revision); revision \(past) has not happened.")
        }
        let store = String(decoding: request.store, as: UTF8.self)
        try ask(
            .state(revision: past, store: store), .revert(store: store, to: past, expected: expected),
            connection)
    }

    private func expect(_ expected: Int?, of index: Int32) throws(RequestError) {
        if let expected, stores.pointer(index).pointee.revision != expected {
            throw conflict(index, expected)
        }
    }

    private func requireLog() throws(RequestError) {
        guard isLogged else {
            throw RequestError(
                .unavailable,
                "This bus keeps no action log, so there is no past to read or return to; configure log: for one."
            )
        }
    }

    /// Throws while nothing can be committed.
    @inline(__always)
    func requireRoom() throws(RequestError) {
        if let trouble { throw RequestError(.unavailable, trouble) }
    }

    // MARK: - Asking

    private func ask(
        _ subject: LogQuestion.Subject, _ purpose: OpenQuestion.Purpose, _ connection: Connection
    ) throws(RequestError) {
        // A reply must not overtake changes that are not written yet, and those need the line's end first.
        put(subject, purpose, id: Array(request.id), connection)
    }

    func put(
        _ subject: LogQuestion.Subject, _ purpose: OpenQuestion.Purpose, id: [UInt8], _ connection: Connection
    ) {
        questionCount += 1
        connection.question = OpenQuestion(number: questionCount, id: id, purpose: purpose)
        connection.isBlocked = true
        configuration.ask(
            LogQuestion(
                connection: connection.id, number: questionCount, subject: subject, peer: connection.peer,
                needed: revision, room: limits.line - id.count - 64))
    }

    /// The log has answered; the connection goes on.
    package func answer(_ question: LogQuestion, with answer: LogAnswer) {
        guard connections.indices.contains(question.connection),
            let connection = connections[question.connection],
            let open = connection.question, open.number == question.number
        else { return }
        connection.question = nil
        switch open.purpose {
        case .reply: reply(answer, open.id, connection)
        case .revert(let store, let to, let expected):
            do throws(RequestError) {
                try revert(store, to: to, expected, answer, by: connection)
                write(open.id, to: connection) { self.appendRevision($0) }
            } catch {
                refuse(error, for: connection, id: open.id)
            }
        case .actions(let subscription): tellPast(answer, to: subscription)
        }
        markReady(connection)
        proceed(connection)
    }

    private func reply(_ answer: LogAnswer, _ id: [UInt8], _ connection: Connection) {
        switch answer {
        case .members(let members):
            write(id, to: connection) { writer in members.withUnsafeBytes { writer.append($0) } }
        case .refused(let code, let message, let details):
            var error = RequestError(ErrorCode(rawValue: code) ?? .internal, message)
            for member in details.members { error = error.with(member.key, member.value) }
            refuse(error, for: connection, id: id)
        case .state, .entries, .gap:
            refuse(
                RequestError(.internal, "The log gave another answer than was asked for; report this."),
                for: connection, id: id)
        }
    }

    private func refuse(_ error: RequestError, for connection: Connection, id: [UInt8]) {
        id.withUnsafeBytes { refuse(error, for: connection, id: $0) }
    }

    private func write(_ id: [UInt8], to connection: Connection, _ body: (ByteWriter) -> Void) {
        let writer = ByteWriter()
        id.withUnsafeBytes { writer.append(headOfReplyTo: $0) }
        writer.append("\"ok\":true")
        body(writer)
        writer.append("}\n")
        if connection.lagging > 0 {
            connection.heldReply = Array(writer.bytes)
        } else {
            write(to: connection) { $0.append(writer.bytes) }
        }
    }

    // MARK: - Going back

    private func revert(
        _ store: String, to past: Int, _ expected: Int?, _ answer: LogAnswer, by connection: Connection
    ) throws(RequestError) {
        guard case .state(let old) = answer else {
            guard case .refused(let code, let message, let details) = answer else { return }
            var error = RequestError(ErrorCode(rawValue: code) ?? .internal, message)
            for member in details.members { error = error.with(member.key, member.value) }
            throw error
        }
        try requireRoom()
        var address = store
        let found = address.withUTF8 { text in
            Result { () throws(RequestError) in try self.requireStore(UnsafeRawBufferPointer(text)) }
        }
        let (entry, index) = try found.get()
        try expect(expected, of: index)
        let state: JSONObject
        do throws(PayloadFailure) {
            state = try entry.type.initialState(replacing: entry.withoutComputed(old))
        } catch {
            throw RequestError(
                .rejected,
                "\(store) can't go back: the state of revision \(past) does not fit its definition of now (\(error.message))."
            )
        }
        let facts = CommitFacts(reverted: .init(store: store, to: past))
        publish(moved: [(index, state)], by: connection.by, facts)
    }

    // MARK: - Waiting

    func waitForLog(_ connection: Connection) {
        connection.isBlocked = true
        if isLogFull, !waitingForLog.contains(where: { $0 === connection }) {
            waitingForLog.append(connection)
        }
    }

    /// A dispatch that wants no answer must get one if its commit can't be written; also one that was sent again.
    func noteSilent(_ connection: Connection, committedAt revision: Int) {
        guard isLogged, revision > durableRevision else { return }
        takeFromCohort(connection)
        // What is written already is of no interest any more; looked for each time the list has doubled, because a slow
        // disk lets it grow long.
        if connection.silent.count >= connection.silentRoom {
            let written = durableRevision
            connection.silent.removeAll { $0.revision <= written }
            connection.silentRoom = max(64, 2 * connection.silent.count)
        }
        connection.silent.append(
            SilentDispatch(place: connection.outbox.total, revision: revision, id: Array(request.id)))
    }
}

extension Engine {
    /// Nobody will answer any more: whoever waits for a reply hears that, before the daemon goes. True if somebody did; then
    /// others may have gone on, and asked in their turn.
    package func refuseQuestions() -> Bool {
        var isAny = false
        for case let connection? in connections {
            // Behind a question there may be another one.
            while let question = connection.question {
                // What is still to be told of past actions is told by the daemon that follows.
                if case .actions = question.purpose { break }
                connection.question = nil
                isAny = true
                refuse(
                    RequestError(.unavailable, "The bus restarts; ask again."), for: connection,
                    id: question.id)
                markReady(connection)
                serve(connection)
            }
        }
        return isAny
    }
}
