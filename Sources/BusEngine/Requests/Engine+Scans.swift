import BusJSON
import BusProtocol
import BusState

/// Reads of many stores, a slice at a time.
extension Engine {
    /// Begins a read: most are answered at once.
    func begin(_ scan: StoreScan, _ connection: Connection) throws(RequestError) {
        if advance(scan) { return try finish(scan, connection, id: request.id) }
        guard !isOverMemory else {
            throw RequestError(
                .limit,
                "The bus holds \(limits.memory) bytes, its memory limit; ask for fewer stores, or later.")
        }
        scan.line = Array(currentLine)
        scan.id = Array(request.id)
        connection.scan = scan
        connection.isBlocked = true
        connection.isPaused = true
        activeScans.append(scan)
        count(scan)
    }

    /// Goes on with a read, and answers when it is done; false if it is not.
    func goOn(with scan: StoreScan, for connection: Connection) -> Bool {
        guard advance(scan) else {
            connection.isPaused = true
            count(scan)
            return false
        }
        forget(scan, of: connection)
        scan.id.withUnsafeBytes { id in
            do throws(RequestError) {
                try finish(scan, connection, id: id)
            } catch {
                refuse(error, for: connection, id: id)
            }
        }
        return true
    }

    /// A read is over, or nobody waits for it any more.
    func forget(_ scan: StoreScan, of connection: Connection) {
        connection.scan = nil
        activeScans.removeAll { $0 === scan }
        scanBytes -= scan.heldBytes
    }

    private func count(_ scan: StoreScan) {
        let held = scan.line.count + scan.found.count * 4 + 512
        scanBytes += held - scan.heldBytes
        scan.heldBytes = held
    }

    // MARK: Looking

    /// Looks for stores as long as the slice lasts; true when all that match, or as many as were asked for, are found.
    private func advance(_ scan: StoreScan) -> Bool {
        if let address = scan.pattern.literalAddress {
            if let after = scan.after, !UTF8Order.precedes(after, address) { return true }
            if let index = find(address) { take(index, for: scan) }
            return true
        }
        if scan.types.isEmpty {
            // The slash sorts before all that may follow a type's name but the hyphen.
            scan.types = types.filter { scan.pattern.type.matches($0.name) }
                .sorted { UTF8Order.precedes($0.name + "/", $1.name + "/") }.map(\.index)
            work += types.count * Work.look
        }
        while scan.type < scan.types.count {
            let entry = types[Int(scan.types[scan.type])]
            entry.ordered.prepare(entry.members)
            entry.ordered.putInPlace {
                work += Work.ordering
                return !isSliceUsedUp
            }
            guard entry.ordered.isComplete, look(through: entry, for: scan) else { return false }
            if scan.hasMore { return true }
            scan.type += 1
            scan.lastName = nil
        }
        return true
    }

    /// Looks through the stores of one type; false if the slice is used up before the end.
    private func look(through entry: TypeEntry, for scan: StoreScan) -> Bool {
        guard let start = start(of: scan, in: entry) else { return true }
        let cost = Work.look + scan.pattern.name.pattern.count
        let seen = scan.lastName
        var isDone = true
        // However short the slice is, it goes on by one store.
        var hasAdvanced = false
        entry.ordered.forEach(from: start) { index in
            let name = stores.pointer(index).pointee.name
            guard scan.prefix.isEmpty || name.utf8.starts(with: scan.prefix.utf8) else { return false }
            if let seen, !UTF8Order.precedes(seen, name) { return true }
            if isSliceUsedUp, hasAdvanced {
                isDone = false
                return false
            }
            hasAdvanced = true
            work += cost
            scan.lastName = name
            guard isBehind(name, entry, scan), scan.pattern.name.isAny || scan.pattern.name.matches(name)
            else { return true }
            if scan.found.count == scan.limit || scan.bytes > limits.line {
                scan.hasMore = true
                return false
            }
            take(index, for: scan)
            return true
        }
        return isDone
    }

    /// Where to begin in a type: behind what was seen, and where names begin like the pattern; nil: not at all.
    private func start(of scan: StoreScan, in entry: TypeEntry) -> String? {
        var start = scan.lastName ?? scan.prefix
        if let after = scan.after {
            let own = entry.name + "/"
            if after.utf8.starts(with: own.utf8) {
                let name = String(after.dropFirst(own.count))
                if UTF8Order.precedes(start, name) { start = name }
            } else if UTF8Order.precedes(own, after) {
                return nil
            }
        }
        return start
    }

    private func isBehind(_ name: String, _ entry: TypeEntry, _ scan: StoreScan) -> Bool {
        guard let after = scan.after else { return true }
        return UTF8Order.precedes(after, "\(entry.name)/\(name)")
    }

    private func take(_ index: Int32, for scan: StoreScan) {
        scan.found.append(index)
        scan.bytes += bytes(of: index, for: scan)
    }

    /// What a store takes on the line, at least.
    private func bytes(of index: Int32, for scan: StoreScan) -> Int {
        let record = stores.pointer(index)
        let address = types[Int(record.pointee.type)].name.utf8.count + record.pointee.name.utf8.count + 5
        if case .states(nil) = scan.answer { return address + Int(record.pointee.size) }
        return address
    }

    // MARK: Meanwhile

    /// A store has been made: reads that have come past its place take it in.
    func noteForScans(created index: Int32) {
        let record = stores.pointer(index)
        let entry = types[Int(record.pointee.type)]
        for scan in activeScans {
            work += Work.look
            guard let place = scan.types.firstIndex(of: entry.index), place <= scan.type,
                isBehind(record.pointee.name, entry, scan),
                scan.pattern.name.matches(record.pointee.name)
            else { continue }
            if place == scan.type {
                guard let last = scan.lastName, UTF8Order.precedes(record.pointee.name, last) else {
                    continue
                }
            }
            let address = address(of: Int(index))
            let position =
                scan.found.firstIndex { UTF8Order.precedes(address, self.address(of: Int($0))) }
                ?? scan.found.count
            work += scan.found.count * Work.look
            scan.found.insert(index, at: position)
            scan.bytes += bytes(of: index, for: scan)
            if scan.found.count > scan.limit { dropLast(of: scan) }
        }
    }

    /// There are more than were asked for now: the last one comes with the next page.
    private func dropLast(of scan: StoreScan) {
        guard let last = scan.found.popLast() else { return }
        scan.bytes -= bytes(of: last, for: scan)
        scan.hasMore = true
        // All that was asked for is found.
        scan.type = scan.types.count
    }

    /// A store goes: reads that have found it forget it.
    func noteForScans(dropped index: Int32) {
        for scan in activeScans {
            work += scan.found.count
            guard let place = scan.found.firstIndex(of: index) else { continue }
            scan.bytes -= bytes(of: index, for: scan)
            scan.found.remove(at: place)
            // Those behind the last one that was asked for have not been looked at.
            if scan.hasMore, !scan.found.isEmpty { lookAgain(scan) } else if scan.hasMore { scan.restart() }
        }
    }

    /// A page has become too short: it goes on behind its last store.
    private func lookAgain(_ scan: StoreScan) {
        let record = stores.pointer(scan.found.last!)
        guard let place = scan.types.firstIndex(of: record.pointee.type) else { return scan.restart() }
        scan.type = place
        scan.lastName = record.pointee.name
        scan.hasMore = false
    }

    /// All stores are others now: reads begin again.
    func restartScans() { for scan in activeScans { scan.restart() } }

    // MARK: The answer

    private func finish(
        _ scan: StoreScan, _ connection: Connection, id: UnsafeRawBufferPointer
    ) throws(RequestError) {
        try answerWithinLine(connection, id: id) { writer in
            switch scan.answer {
            case .states(let selection):
                appendRevision(writer)
                writer.append(",\"states\":{")
                for (place, index) in scan.found.enumerated() {
                    if place > 0 { writer.append(UInt8(ascii: ",")) }
                    writer.append(quoted: address(of: Int(index)))
                    writer.append(UInt8(ascii: ":"))
                    let state = stores.pointer(index).pointee.state
                    writer.append(jsonObject: selection?.project(state) ?? state)
                    if !fits(writer) { return false }
                }
                writer.append("}")
            case .list:
                writer.append(",\"stores\":[")
                for (place, index) in scan.found.enumerated() {
                    let record = stores.pointer(index)
                    writer.append(place == 0 ? "{\"store\":" : ",{\"store\":")
                    writer.append(quoted: address(of: Int(index)))
                    writer.append(",\"revision\":")
                    writer.append(decimal: record.pointee.revision)
                    writer.append(
                        record.pointee.owner >= 0 ? ",\"ephemeral\":true}" : ",\"ephemeral\":false}")
                    if !fits(writer) { return false }
                }
                writer.append("]")
            }
            if scan.hasMore, let last = scan.found.last {
                writer.append(",\"next\":")
                writer.append(quoted: address(of: Int(last)))
            }
            return fits(writer)
        }
    }
}
