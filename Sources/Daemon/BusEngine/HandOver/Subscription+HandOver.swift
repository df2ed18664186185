import BusJSON
import BusMachine
import BusProtocol

/// A subscription as the daemon that takes over reads it.
extension Subscription {
    func handOver(to writer: RecordWriter) {
        writer.record("subscription") { record in
            record("connection", .int(connection.id))
            record("number", .int(number))
            record("from", .int(from))
            record("type", .string(String(decoding: wanted.pattern.type.pattern, as: UTF8.self)))
            record("name", .string(String(decoding: wanted.pattern.name.pattern, as: UTF8.self)))
            if let selected = wanted.selected {
                record("pointers", .array(selected.map { .array($0.map(JSON.string)) }))
            }
            if let chosen = wanted.chosen { record("where", chosen.source) }
            record("format", .string(wanted.format.rawValue))
            record("cause", .bool(wanted.cause))
            record("actions", .bool(wanted.actions))
            if let past {
                record("toldThrough", .int(past.deliveredThrough))
                if past.missingThrough > 0 { record("missingThrough", .int(past.missingThrough)) }
            }
            if let catchUp { record("lag", catchUp.json) }
        }
    }
}

extension SubscriptionHub {
    /// A subscription of a connection that was taken over.
    func takeOver(_ record: TransferRecord) throws(TransferFailure) {
        guard let connection = connections.find(try record.integer("connection")) else {
            throw record.missing("connection")
        }
        let wanted = try SubscriptionFilter(record, in: machine)
        let group = group(wanted.granted(to: connection.access.grants), for: connection.user)
        _ = groups.search(for: group) { true }
        let subscription = Subscription(
            number: try record.integer("number"), connection: connection, group: group, wanted: wanted,
            from: try record.integer("from"))
        guard subscription.number > connection.delivery.subscriptions.last?.number ?? 0,
            subscription.number < connection.delivery.nextNumber, subscription.from <= machine.revision
        else { throw record.missing("number") }
        attach(subscription)
        if let revision = record.members["toldThrough"]?.int {
            beginPast(
                subscription,
                at: Subscription.Past(
                    after: revision, missingThrough: record.members["missingThrough"]?.int ?? 0))
        }
        if let lag = record.members["lag"] {
            guard let catchUp = CatchUp(lag) else { throw record.missing("lag") }
            beginLagging(subscription, catchUp)
        }
    }
}

extension SubscriptionFilter {
    fileprivate init(_ record: TransferRecord, in machine: StateMachine) throws(TransferFailure) {
        let text = Array("\(try record.string("type"))/\(try record.string("name"))".utf8)
        guard let pattern = text.withUnsafeBytes({ AddressPattern($0) }) else { throw record.missing("type") }
        guard let format = Format(rawValue: try record.string("format")) else {
            throw record.missing("format")
        }
        let pointers = record.members["pointers"]?.array?.map { ($0.array ?? []).compactMap(\.string) }
        var chosen: StoreFilter?
        if let source = record.members["where"] {
            do { chosen = try machine.filter(source) } catch { throw record.missing("where") }
        }
        self.init(
            pattern: pattern, where: chosen, pointers: pointers, format: format, cause: record.flag("cause"),
            actions: record.flag("actions"))
    }
}

extension CatchUp {
    /// What the next daemon has to know of it. How far a round has got is not included: the round begins again there,
    /// and delivers some stores twice, which later parts of an event may do.
    fileprivate var json: JSON {
        [
            "reset": .bool(reset), "evenIfEmpty": .bool(evenIfEmpty), "open": .bool(isOpen),
            "dropsAfter": .int(dropsAfter), "floor": .int(floor), "ceiling": .int(ceiling),
            "changed": .array(changed.map(JSON.string)),
        ]
    }

    fileprivate init?(_ json: JSON) {
        guard let reset = json["reset"]?.bool, let evenIfEmpty = json["evenIfEmpty"]?.bool,
            let isOpen = json["open"]?.bool, let dropsAfter = json["dropsAfter"]?.int,
            let floor = json["floor"]?.int, let ceiling = json["ceiling"]?.int
        else { return nil }
        self.init(
            reset: reset, evenIfEmpty: evenIfEmpty, dropsAfter: dropsAfter, floor: floor, ceiling: ceiling)
        self.isOpen = isOpen
        // An earlier version does not tell it.
        changed = (json["changed"]?.array ?? []).compactMap(\.string)
    }
}
