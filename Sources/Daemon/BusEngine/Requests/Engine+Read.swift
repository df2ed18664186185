import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Requests that only read: states, lists, definitions, counters.
extension Engine {
    func get(_ connection: Connection) throws(RequestError) {
        let grants = connection.access.grants
        if request.namesOnlyAStore, grants?.readsEverything ?? true,
            let found = machine.location(of: request.store),
            try answerState(at: found, connection)
        {
            return
        }
        // On one machine every read is fresh.
        _ = try request.flag(.fresh, default: false)
        let past = try requestedPast(grants)
        if past == nil {
            try commands.require(.read, ofStoreIn: grants, "read")
            clock.work += Work.read
        }
        let pattern = try request.requiredPattern(in: machine, ofPast: past != nil)
        try grants?.requireKnown(pattern)
        let required =
            request.present.contains(.store) ? String(decoding: request.store, as: UTF8.self) : nil
        if past == nil, required == nil { try machine.requireTypes(of: pattern) }
        let selected = try request.selection(clock)
        let filter = try requestedFilter(of: pattern, grants, isPast: past != nil)
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        let selection = StoreSelection(
            .states(selected), of: pattern, after: after, limit: limit, required: required,
            view: StoreView(grants, isPast: past != nil), where: filter)
        if let past { return ask(.stores(past, selection, knownPast(of: pattern)), connection) }
        try read(selection, connection)
    }

    /// Answers with the whole state of one store; false where that may be too long for a line.
    private func answerState(
        at found: StateMachine.Location, _ connection: Connection
    ) throws(RequestError) -> Bool {
        try shares.requireOutput(
            Int(machine.stores.pointer(found.store).pointee.size), for: connection)
        // The machine holds its types, and nothing here changes them.
        return Unmanaged.passUnretained(machine.types[Int(found.type)])._withUnsafeGuaranteedRef {
            answerState(of: found.store, $0, connection)
        }
    }

    @inline(__always)
    private func answerState(of store: Int32, _ type: TypeEntry, _ connection: Connection) -> Bool {
        let record = machine.stores.pointer(store)
        let size = Int(record.pointee.size) + type.addressStart.utf8.count + record.pointee.name.utf8.count
        guard size + request.id.count + DaemonLimits.eventOverhead <= limits.daemon.line else { return false }
        clock.work += Work.read + size * Work.encodedByte
        connections.reply(to: connection) { writer in
            writer.append(successOf: request.id)
            writer.append(revision: machine.revision)
            writer.append(",\"states\":{", raw: type.addressStart)
            writer.append(raw: record.pointee.name)
            writer.append("\":", jsonObject: record.pointee.state)
            writer.append("}}\n")
        }
        return true
    }

    func listStores(_ connection: Connection) throws(RequestError) {
        let pattern = try request.pattern(in: machine) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        let grants = connection.access.grants
        let filter = try requestedFilter(of: pattern, grants, isPast: false)
        let selection = StoreSelection(
            .list, of: pattern, after: after, limit: limit, view: StoreView(grants, isPast: false),
            where: filter)
        try read(selection, connection)
    }

    /// The `where` of a request that reads; nil without one. Throws if it reads a member that the client may read of no store;
    /// where hidden, a member counts as absent.
    func requestedFilter(
        of pattern: AddressPattern, _ grants: Grants?, isPast: Bool
    ) throws(RequestError) -> StoreFilter? {
        guard let filter = try machine.requestedFilter(in: request) else { return nil }
        clock.work += Work.conditionByte * machine.plan.conditionCache.takeCompiledBytes()
        if let hidden = grants?.hiddenRead(of: filter.reads, pattern, isPast: isPast) {
            throw Commands.forbidden("read \(hidden.shortened(to: 80)) of", pattern.text)
        }
        return filter
    }

    private func requestedAfter() throws(RequestError) -> String? {
        guard let after = try request.string(.after) else { return nil }
        try after.utf8Span.span.withUnsafeBytes { (after) throws(RequestError) in
            _ = try machine.requireAddress(after, member: "after")
        }
        return after
    }

    func listTypes(_ connection: Connection) throws(RequestError) {
        let grants = connection.access.grants
        let name = request.present.contains(.type) ? String(decoding: request.type, as: UTF8.self) : nil
        if let name, let grants, !grants.knows(type: name) { throw .unknown(type: name) }
        if let past = try requestedPast(grants) {
            return ask(.types(past, name, view: grants), connection)
        }
        let wanted = name == nil ? nil : try machine.requireType(request.type)
        try replies.answerWithinLine(connection, id: request.id) { writer in
            machine.appendTypes(wanted, seenBy: grants, to: writer, room: limits.daemon.line)
        }
    }

    // MARK: A slice at a time

    private func read(_ selection: StoreSelection, _ connection: Connection) throws(RequestError) {
        try read(StoreQuery(selection, in: machine, room: limits.daemon.line), connection)
    }

    /// Begins a read: most are answered at once.
    func read(_ query: some SlicedQuery, _ connection: Connection) throws(RequestError) {
        if advance(query) { return try finish(query, connection, id: request.id) }
        try admission.requireMemoryForRead()
        let read = PendingRead(query, line: Array(currentLine), id: Array(request.id))
        connection.begin(read)
        reads.add(read)
    }

    /// Continues a read, and replies when it is done; false if it is not.
    func resume(_ read: PendingRead, for connection: Connection) -> Bool {
        guard advance(read.query) else {
            connection.pause()
            reads.count(read)
            return false
        }
        forgetRead(of: connection)
        read.id.withUnsafeBytes { id in
            do throws(RequestError) {
                try finish(read.query, connection, id: id)
            } catch {
                replies.refuse(error, for: connection, id: id)
            }
        }
        return true
    }

    /// A read is done, or its client no longer waits for it.
    func forgetRead(of connection: Connection) {
        guard let read = connection.read else { return }
        connection.endRead()
        reads.remove(read)
    }

    /// Looks as long as the slice lasts; true when it is done.
    private func advance(_ query: some SlicedQuery) -> Bool {
        query.goOn { work in
            clock.work += work
            return !clock.isSliceUsedUp
        }
    }

    private func finish(
        _ query: some SlicedQuery, _ connection: Connection, id: UnsafeRawBufferPointer
    ) throws(RequestError) {
        try replies.answerWithinLine(connection, id: id) {
            query.appendAnswer(to: $0, room: limits.daemon.line)
        }
    }
}
