import BusJSON
import BusLogic
import BusProtocol

/// Bytes become the bus again.
extension Engine {
    /// Takes over everything another engine held. This one must be new: no store, no connection. Its types stay where
    /// the states fit them; a type whose stores do not fit, or that is gone, keeps the definition that was handed over.
    ///
    /// Connections keep their numbers. Sockets that did not come along are the caller's to `disconnect`, which carries
    /// out their wills. After a failure the engine must be thrown away.
    ///
    /// `isLogToCome`: what clients have sent waits for `goOnAfterTakeOver`, as what it commits must be logged.
    package func takeOver(
        _ bytes: UnsafeRawBufferPointer, isLogToCome: Bool = false
    ) throws(HandOverFailure) {
        precondition(
            stores.count == 0 && connectionCount == 0, "Only a new engine can take over another's state.")
        var records = HandOverRecords(bytes)
        let bus = try records.bus()
        try takeBus(bus)
        var arrival = Arrival()
        while let record = try records.next() {
            switch record.kind {
            case "type": try arrival.add(definition: record)
            case "identity": try takeIdentity(record)
            case "connection": try takeConnection(record)
            case "store": arrival.stores.append(record)
            case "drop": arrival.drops.append(record)
            case "key": try takeKey(record)
            case "subscription": arrival.subscriptions.append(record)
            default:
                throw HandOverFailure(
                    "The state that was handed over holds a \(record.kind), which is unknown.")
            }
        }
        // Where a log tells which definitions hold, a new engine begins without any.
        if types.isEmpty { for definition in arrival.inOrder { try take(definition: definition) } }
        let moved = try takeStores(&arrival)
        try finishTaking(bus, arrival.drops)
        for record in arrival.subscriptions { try takeSubscription(record) }
        if !moved.isEmpty { publish(moved: moved, by: Self.daemon, CommitFacts()) }
        if !isLogToCome { goOnAfterTakeOver() }
    }

    /// Whoever can go on with what waits does.
    package func goOnAfterTakeOver() {
        for case let connection? in connections {
            markReady(connection)
            proceed(connection)
        }
    }

    func take(definition: JSON) throws(HandOverFailure) {
        do throws(RequestError) {
            try define(definition)
        } catch {
            throw HandOverFailure("What was handed over can't be used: \(error.message).")
        }
    }

    func takeBus(_ bus: HandOverRecord) throws(HandOverFailure) {
        configuration.epoch = try bus.string("epoch")
        revision = try bus.integer("revision")
        now = max(now, try bus.integer("now"))
    }

    /// What counts once the stores are there.
    func finishTaking(_ bus: HandOverRecord, _ drops: [HandOverRecord]) throws(HandOverFailure) {
        keys.forgottenThrough = try bus.integer("keysForgotten")
        sequence = try bus.integer("sequence")
        try takeDrops(drops, forgottenThrough: bus.integer("dropsForgotten"))
    }

    /// What can be put in its place only when everything before it is known.
    private struct Arrival {
        var definitions: [String: JSON] = [:]
        var inOrder: [JSON] = []
        var stores: [HandOverRecord] = []
        var drops: [HandOverRecord] = []
        var subscriptions: [HandOverRecord] = []

        mutating func add(definition record: HandOverRecord) throws(HandOverFailure) {
            guard let definition = record.members["definition"], let name = definition["type"]?.string else {
                throw record.missing("definition")
            }
            definitions[name] = definition
            inOrder.append(definition)
        }
    }

    // MARK: Clients

    func takeIdentity(_ record: HandOverRecord) throws(HandOverFailure) {
        let identity: Identity
        if let uid = record.members["uid"]?.int {
            identity = .uid(uid)
        } else {
            identity = .token(try record.string("token"))
        }
        identities[identity] = Int32(identities.count)
    }

    private func takeConnection(_ record: HandOverRecord) throws(HandOverFailure) {
        let id = try record.integer("id")
        guard id >= connections.count, id < 1 << 24 else { throw record.missing("id") }
        let peer: Peer
        if let address = record.members["address"]?.string {
            peer = .tcp(address: address)
        } else {
            peer = .unix(
                uid: try record.integer("uid"), pid: try record.integer("pid"),
                unit: record.members["unit"]?.string)
        }
        let connection = Connection(id: id, peer: peer, limits: limits)
        while connections.count < id {
            freeConnections.append(connections.count)
            connections.append(nil)
        }
        connections.append(connection)
        connectionCount += 1
        if let number = record.members["identity"]?.int {
            guard let index = Int32(exactly: number),
                let identity = identities.first(where: { $0.value == index })?.key
            else { throw record.missing("identity") }
            connection.identity = identity
            connection.identityIndex = index
            connection.by = Array(try record.object("by").encoded.utf8)
        }
        connection.nextSubscription = try record.integer("nextSubscription")
        connection.will = try (record.members["will"]?.array ?? []).map { (element) throws(HandOverFailure) in
            guard let action = WillAction(element) else { throw record.missing("will") }
            return action
        }
        connection.willBytes = try record.integer("willBytes")
        willBytes += connection.willBytes
        connection.isBlocked = record.flag("blocked")
        connection.inputEnded = record.flag("inputEnded")
        try takeBytes(of: record, for: connection)
        connection.isClosing = record.flag("closing")
        // What the log has heard of it is not known here.
        connection.isNoted = true
    }

    /// The output that was not sent, a reply that waited, the input that was not carried out.
    private func takeBytes(of record: HandOverRecord, for connection: Connection) throws(HandOverFailure) {
        let output = try record.integer("output")
        let reply = record.members["reply"]?.int
        let inputStart = output + (reply ?? 0)
        guard output >= 0, reply ?? 0 >= 0, inputStart <= record.data.count else {
            throw record.missing("output")
        }
        if output > 0 {
            write(to: connection) { $0.append(UnsafeRawBufferPointer(rebasing: record.data[..<output])) }
        }
        if reply != nil { connection.heldReply = Array(record.data[output..<inputStart]) }
        connection.lines.takeOver(
            UnsafeRawBufferPointer(rebasing: record.data[inputStart...]), isSkipping: record.flag("skipping"))
        connection.heldBytes = connection.lines.heldBytes
        heldBytes += connection.heldBytes
    }

    func takeKey(_ record: HandOverRecord) throws(HandOverFailure) {
        let digest = KeyMemory.Digest(
            first: UInt64(bitPattern: Int64(try record.anyInteger("first"))),
            second: UInt64(bitPattern: Int64(try record.anyInteger("second"))))
        let id = KeyMemory.ID(
            identity: Int32(truncatingIfNeeded: try record.integer("identity")),
            key: Array(try record.string("key").utf8))
        keys.remember(
            .init(
                digest: digest, revision: try record.integer("revision"),
                matched: try record.integer("matched"),
                changed: try record.integer("changed")), as: id)
    }

    // MARK: Stores

    /// Gives the stores whose state had to be made anew for a definition that has changed.
    private func takeStores(
        _ arrival: inout Arrival
    ) throws(HandOverFailure) -> [(store: Int32, state: JSONObject)] {
        var byType: [String: [HandOverRecord]] = [:]
        for record in arrival.stores { byType[try record.string("type"), default: []].append(record) }
        var moved: [(store: Int32, state: JSONObject)] = []
        for (name, records) in byType.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            guard let definition = arrival.definitions[name] else { throw records[0].missing("type") }
            moved += try takeStores(records, name, definition)
        }
        orderTypes()
        return moved
    }

    private func takeStores(
        _ records: [HandOverRecord], _ name: String, _ definition: JSON
    ) throws(HandOverFailure) -> [(store: Int32, state: JSONObject)] {
        var newStates: [JSONObject]?
        if let entry = typesByName[name], entry.type.definition == definition {
            newStates = nil
        } else {
            newStates = fitted(records, to: typesByName[name]?.type, old: definition)
            if newStates == nil { try keepDefinition(definition, name) }
        }
        let taken = try takeStores(records, of: typesByName[name]!)
        guard let newStates else { return [] }
        return zip(taken, newStates).map { (store: $0, state: $1) }
    }

    /// Stores whose types have the definitions they were made for.
    func takeStores(_ records: [HandOverRecord]) throws(HandOverFailure) {
        var byType: [String: [HandOverRecord]] = [:]
        for record in records { byType[try record.string("type"), default: []].append(record) }
        for (name, records) in byType.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            guard let entry = typesByName[name] else { throw records[0].missing("type") }
            _ = try takeStores(records, of: entry)
        }
    }

    private func takeStores(
        _ records: [HandOverRecord], of entry: TypeEntry
    ) throws(HandOverFailure) -> [Int32] {
        var taken: [Int32] = []
        for record in records { taken.append(try takeStore(record, of: entry)) }
        for index in taken.sorted(by: {
            stores.pointer($0).pointee.sequence < stores.pointer($1).pointee.sequence
        }) {
            entry.moveToNewest(index)
        }
        return taken
    }

    /// The states as a changed definition has them; nil when one does not fit it.
    private func fitted(_ records: [HandOverRecord], to type: (any StateType)?, old: JSON) -> [JSONObject]? {
        guard let type else { return nil }
        var states: [JSONObject] = []
        for record in records {
            var state = record.members["state"]?.object ?? [:]
            for name in old["computed"]?.object?.keys ?? [] { state[name] = nil }
            guard let fitting = try? type.initialState(replacing: state),
                fitting.encodedSize <= limits.effectiveState
            else { return nil }
            states.append(fitting)
        }
        return states
    }

    private func keepDefinition(_ definition: JSON, _ name: String) throws(HandOverFailure) {
        let type: any StateType
        do throws(ReloadFailure) {
            type = try configuration.compile(definition)
        } catch {
            throw HandOverFailure(
                "The type \(name) has stores but no definition that fits them (\(error.message)); give it one."
            )
        }
        if let entry = typesByName[name] { entry.redefine(type) } else { addType(type) }
        configuration.report(
            EngineNote(
                kind: .definitionKept, level: .error,
                message: "The definition of \(name) does not fit its stores, or is gone: the old one stays.",
                type: name))
    }

    private func takeStore(_ record: HandOverRecord, of entry: TypeEntry) throws(HandOverFailure) -> Int32 {
        let name = try record.string("name")
        var address = "\(entry.name)/\(name)"
        let isFree = address.withUTF8 { bytes in
            AddressParts(UnsafeRawBufferPointer(bytes)).map {
                stores.find(type: entry.index, name: $0.name) == nil
            }
        }
        guard isFree == true, try record.integer("revision") <= revision else { throw record.missing("name") }
        let state = try record.object("state")
        let size = state.encodedSize
        guard size < Int32.max else { throw record.missing("state") }
        let sequence = try record.integer("sequence")
        guard sequence > 0 else { throw record.missing("sequence") }
        let owner = record.members["owner"]?.int ?? -1
        let index = stores.insert(
            StoreRecord(
                name: name, state: state, revision: try record.integer("revision"),
                sequence: sequence, shapes: [], older: -1, newer: -1, type: entry.index,
                place: -1, size: Int32(size),
                creator: Int32(truncatingIfNeeded: try record.anyInteger("creator")),
                owner: Int32(truncatingIfNeeded: owner), touch: -1))
        entry.add(index)
        stateBytes += size
        if owner >= 0 {
            let connected = connections.indices.contains(owner) ? connections[owner] : nil
            guard let connection = connected ?? pastConnections[owner] else { throw record.missing("owner") }
            connection.ephemeralStores.insert(index)
        } else if owner < -1 {
            throw record.missing("owner")
        }
        return index
    }

    private func takeDrops(_ records: [HandOverRecord], forgottenThrough: Int) throws(HandOverFailure) {
        var drops: [DropLog.Drop] = []
        var forgottenThrough = forgottenThrough
        for record in records {
            guard let entry = typesByName[try record.string("type")] else {
                // A mirror of all types may still hold the store: whoever resumes from before starts anew.
                forgottenThrough = max(forgottenThrough, try record.integer("revision"))
                continue
            }
            drops.append(
                .init(
                    revision: try record.integer("revision"), type: entry.index,
                    name: try record.string("name")))
        }
        dropLog = DropLog(drops, forgottenThrough: forgottenThrough)
    }

    // MARK: Subscriptions

    private func takeSubscription(_ record: HandOverRecord) throws(HandOverFailure) {
        let id = try record.integer("connection")
        guard connections.indices.contains(id), let connection = connections[id] else {
            throw record.missing("connection")
        }
        let text = Array("\(try record.string("type"))/\(try record.string("name"))".utf8)
        guard let pattern = text.withUnsafeBytes({ AddressPattern($0) }) else { throw record.missing("type") }
        guard let format = Shape.Format(rawValue: try record.string("format")) else {
            throw record.missing("format")
        }
        let pointers = record.members["pointers"]?.array?.map { ($0.array ?? []).compactMap(\.string) }
        let shape = shape(
            Shape.Key(
                pattern: pattern, pointers: pointers, format: format, cause: record.flag("cause"),
                actions: record.flag("actions")), pointers)
        _ = search(for: shape) { true }
        let subscription = Subscription(
            number: try record.integer("number"), connection: connection, shape: shape,
            from: try record.integer("from"))
        guard subscription.number > connection.subscriptions.last?.number ?? 0,
            subscription.number < connection.nextSubscription, subscription.from <= revision
        else { throw record.missing("number") }
        connection.subscriptions.append(subscription)
        shape.add(subscription)
        subscriptionCount += 1
        if let toldThrough = record.members["toldThrough"]?.int {
            subscription.toldThrough = toldThrough
            connection.behind += 1
            connection.isBlocked = true
        }
        if let lag = record.members["lag"] {
            let wasBlocked = connection.isBlocked
            guard let catchUp = CatchUp(lag) else { throw record.missing("lag") }
            beginLagging(subscription, catchUp)
            connection.isBlocked = wasBlocked || connection.isBlocked
        }
    }
}

extension CatchUp {
    init?(_ json: JSON) {
        guard let reset = json["reset"]?.bool, let evenIfEmpty = json["evenIfEmpty"]?.bool,
            let isOpen = json["open"]?.bool, let dropsAfter = json["dropsAfter"]?.int,
            let floor = json["floor"]?.int, let ceiling = json["ceiling"]?.int
        else { return nil }
        self.init(
            reset: reset, evenIfEmpty: evenIfEmpty, dropsAfter: dropsAfter, floor: floor, ceiling: ceiling)
        self.isOpen = isOpen
    }
}

extension WillAction {
    init?(_ json: JSON) {
        guard let action = json["action"]?.string, let payload = json["payload"]?.object else { return nil }
        self.init(store: json["store"]?.string, type: json["type"]?.string, action: action, payload: payload)
    }
}
