import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Requests that only read: states, lists, definitions, counters.
extension Engine {
    func get(_ connection: Connection) throws(RequestError) {
        if try askPast(connection) { return }
        work += Work.read
        let pattern = try requestedPattern(required: true)!
        try requireTypes(of: pattern)
        let selection = try requestedPointers().map { Selection($0) }
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        if request.present.contains(.store) { _ = try requireStore(request.store) }
        try begin(StoreScan(.states(selection), of: pattern, after: after, limit: limit), connection)
    }

    func listStores(_ connection: Connection) throws(RequestError) {
        let pattern = try requestedPattern(required: false) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        try begin(StoreScan(.list, of: pattern, after: after, limit: limit), connection)
    }

    private func requestedAfter() throws(RequestError) -> String? {
        guard let after = try request.string(.after) else { return nil }
        var text = after
        let checked = text.withUTF8 { bytes in
            Result { () throws(RequestError) in
                _ = try self.requireAddress(UnsafeRawBufferPointer(bytes), member: "after")
            }
        }
        try checked.get()
        return after
    }

    func find(_ address: String) -> Int32? {
        var address = address
        return address.withUTF8 { bytes in
            guard let parts = AddressParts(UnsafeRawBufferPointer(bytes)), let entry = type(named: parts.type)
            else {
                return nil
            }
            return stores.find(type: entry.index, name: parts.name)
        }
    }

    func listTypes(_ connection: Connection) throws(RequestError) {
        if try askPast(connection) { return }
        let wanted: [TypeEntry] =
            request.present.contains(.type)
            ? [try requireType(request.type)] : liveTypes.sorted { UTF8Order.precedes($0.name, $1.name) }
        try answerWithinLine(connection) { writer in
            writer.append(",\"types\":[")
            for (place, entry) in wanted.enumerated() {
                if place > 0 { writer.append(UInt8(ascii: ",")) }
                writer.append(entry.definitionText.bytes)
                if !self.fits(writer) { return false }
            }
            writer.append("]")
            return self.fits(writer)
        }
    }

    func appendStatistics(_ writer: ByteWriter) {
        let counters: JSONObject = [
            "revision": .int(revision), "epoch": .string(configuration.epoch),
            "types": .int(typesByName.count),
            "stores": .int(stores.count), "connections": .int(connectionCount),
            "subscriptions": .int(subscriptionCount), "shapes": .int(shapes.count),
            "stateBytes": .int(stateBytes), "outboxBytes": .int(outboxBytes),
            "accountedMemory": .int(accountedMemory), "rememberedKeys": .int(keys.count),
            "totals": .object([
                "connections": .int(statistics.connections), "requests": .int(statistics.requests),
                "commits": .int(statistics.commits), "dispatches": .int(statistics.dispatches),
                "duplicates": .int(statistics.duplicates), "events": .int(statistics.events),
                "coalesced": .int(statistics.coalesced), "bookmarks": .int(statistics.bookmarks),
                "slowConsumers": .int(statistics.goodbyes), "bytesIn": .int(statistics.bytesIn),
                "bytesOut": .int(statistics.bytesOut), "work": .int(statistics.work + work),
            ]),
            "errors": .object(
                statistics.errors.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) }),
        ]
        writer.append(",\"stats\":")
        writer.append(jsonObject: counters)
    }
}
