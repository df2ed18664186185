import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Requests that only read: states, lists, definitions, counters.
extension Engine {
    func get(_ connection: Connection) throws(RequestError) {
        if try askPast(connection) { return }
        let pattern = try requestedPattern(required: true)!
        try requireTypes(of: pattern)
        let selection = try requestedPointers().map { Selection($0) }
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        if request.present.contains(.store) { _ = try requireStore(request.store) }
        try answerWithinLine(connection) { writer in
            self.appendRevision(writer)
            writer.append(",\"states\":{")
            var last: Int32?
            let more = self.forEachStore(of: pattern, after: after, limit: limit) { index in
                let record = self.stores.pointer(index)
                if last != nil { writer.append(UInt8(ascii: ",")) }
                last = index
                writer.append(quoted: self.address(of: Int(index)))
                writer.append(UInt8(ascii: ":"))
                let state = record.pointee.state
                writer.append(jsonObject: selection?.project(state) ?? state)
                return self.fits(writer)
            }
            writer.append("}")
            self.appendNext(more, last, to: writer)
            return self.fits(writer)
        }
    }

    func listStores(_ connection: Connection) throws(RequestError) {
        let pattern = try requestedPattern(required: false) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        try answerWithinLine(connection) { writer in
            writer.append(",\"stores\":[")
            var last: Int32?
            let more = self.forEachStore(of: pattern, after: after, limit: limit) { index in
                let record = self.stores.pointer(index)
                writer.append(last == nil ? "{\"store\":" : ",{\"store\":")
                last = index
                writer.append(quoted: self.address(of: Int(index)))
                writer.append(",\"revision\":")
                writer.append(decimal: record.pointee.revision)
                writer.append(record.pointee.owner >= 0 ? ",\"ephemeral\":true}" : ",\"ephemeral\":false}")
                return self.fits(writer)
            }
            writer.append("]")
            self.appendNext(more, last, to: writer)
            return self.fits(writer)
        }
    }

    private func appendNext(_ more: Bool, _ last: Int32?, to writer: ByteWriter) {
        guard more, let last else { return }
        writer.append(",\"next\":")
        writer.append(quoted: address(of: Int(last)))
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

    /// Visits the stores of a pattern by ascending address, behind `after`, at most `limit` of them. True when
    /// there are more. Ends early when `body` gives false.
    private func forEachStore(
        of pattern: AddressPattern, after: String?, limit: Int, _ body: (Int32) -> Bool
    ) -> Bool {
        if let address = pattern.literalAddress {
            if let after, !UTF8Order.precedes(after, address) { return false }
            if let index = find(address) { _ = body(index) }
            return false
        }
        var left = limit
        // The slash sorts before all that may follow a type's name but the hyphen.
        let ordered = types.filter { pattern.type.matches($0.name) }
            .sorted { UTF8Order.precedes($0.name + "/", $1.name + "/") }
        for entry in ordered {
            let sorted = entry.sorted
            var place = 0
            if let after { place = firstPlace(in: sorted, of: entry, after: after) }
            while place < sorted.count {
                let index = sorted[place]
                place += 1
                guard pattern.name.isAny || pattern.name.matches(stores.pointer(index).pointee.name) else {
                    continue
                }
                if left == 0 { return true }
                left -= 1
                if !body(index) { return true }
            }
        }
        return false
    }

    /// The first place whose address sorts behind `after`.
    private func firstPlace(in sorted: [Int32], of entry: TypeEntry, after: String) -> Int {
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if UTF8Order.precedes(after, address(of: Int(sorted[middle]))) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }

    private func find(_ address: String) -> Int32? {
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
                writer.append(json: entry.type.definition)
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
                "bytesOut": .int(statistics.bytesOut),
            ]),
            "errors": .object(
                statistics.errors.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) }),
        ]
        writer.append(",\"stats\":")
        writer.append(jsonObject: counters)
    }
}
