import BusJSON

/// Writes the state machine as records.
extension StateMachine {
    /// Everything that commits have made, as far as the log keeps it.
    package func snapshot() -> ByteWriter {
        let writer = RecordWriter()
        writeBus(to: writer, form: StateTransfer.snapshotForm)
        writeSessions(to: writer, keptOnly: true)
        writeStores(to: writer, keptOnly: true)
        return writer.finished()
    }

    /// Writes the bus as a whole: its place in history, its types, its access rules, its identities.
    package func writeBus(to writer: RecordWriter, form: Int) {
        writer.record("bus") { record in
            record("form", .int(form))
            record("epoch", .string(epoch))
            record("revision", .int(revision))
            record("sequence", .int(sequence))
            record("now", .int(time))
            record("dropsForgotten", .int(dropLog.forgottenThrough))
            record("keysForgotten", .int(keys.forgottenThrough))
            record("nextSession", .int(sessions.next))
            if followsParts { record("followsParts", true) }
            if forgottenThrough > 0 { record("forgottenThrough", .int(forgottenThrough)) }
        }
        for entry in liveTypes {
            writer.record("type") { record in
                record("definition", entry.type.definition)
                if entry.kept != .all { record("keep", .string(entry.kept.rawValue)) }
                if entry.keptSince > 0 { record("keptSince", .int(entry.keptSince)) }
            }
        }
        if let access {
            writer.record("access") { record in
                record("definition", access.definition)
                record("since", .int(accessSince))
                if let parts { record("parts", .int(parts.since)) }
            }
        }
        for identity in identities.inOrder {
            writer.record("identity") { record in
                for member in identity.members { record(member.key, member.value) }
            }
        }
    }

    /// Writes the sessions that have a will or ephemeral stores; with `keptOnly`, only stores that the log keeps count.
    package func writeSessions(to writer: RecordWriter, keptOnly: Bool = false) {
        for session in sessionsInOrder where !session.isEmpty {
            if keptOnly, session.will.isEmpty,
                !session.ephemeralStores.contains(where: { isKept(.store($0)) })
            {
                continue
            }
            writer.record("session") { record in
                for member in session.record.members { record(member.key, member.value) }
            }
        }
    }

    /// Writes the stores, the drop log, the keys of commits, and the timers; with `keptOnly`, without the stores, drops and
    /// timers of types that the log does not keep.
    package func writeStores(to writer: RecordWriter, keptOnly: Bool = false) {
        for entry in types where !keptOnly || entry.kept != .none { writeStores(of: entry, to: writer) }
        for number in dropLog.forgottenCount..<dropLog.count {
            let drop = dropLog[number]
            if keptOnly, types[Int(drop.type)].kept == .none { continue }
            writer.record("drop") { record in
                record("revision", .int(drop.revision))
                record("type", .string(types[Int(drop.type)].name))
                record("name", .string(drop.name))
            }
        }
        keys.forEach { id, entry in write(id, entry, to: writer) }
        writeTimers(to: writer, keptOnly: keptOnly)
    }

    private func writeStores(of entry: TypeEntry, to writer: RecordWriter) {
        for index in entry.members where index >= 0 {
            let store = stores.pointer(index)
            // The state of a view's store follows from the other stores, but the time of its last change does not.
            let isOfView = store.pointee.creator == StoreRecord.view
            writer.record(isOfView ? "view" : "store") { record in
                record("type", .string(entry.name))
                record("name", .string(store.pointee.name))
                if !isOfView { record("state", .object(store.pointee.state)) }
                record("revision", .int(store.pointee.revision))
                record("sequence", .int(store.pointee.sequence))
                if !isOfView { record("creator", .int(Int(store.pointee.creator))) }
                if store.pointee.owner >= 0 { record("owner", .int(store.pointee.owner)) }
                if let seen = parts?.records(of: index), seen != [] { record("parts", seen) }
            }
        }
    }

    private func write(
        _ id: DeduplicationTable.ID, _ entry: DeduplicationTable.Entry, to writer: RecordWriter
    ) {
        writer.record("key") { record in
            record("identity", .int(Int(id.identity)))
            record("key", .string(String(decoding: id.key, as: UTF8.self)))
            record("first", .int(Int(bitPattern: UInt(entry.digest.first))))
            record("second", .int(Int(bitPattern: UInt(entry.digest.second))))
            record("revision", .int(entry.revision))
            record("matched", .int(entry.matched))
            record("changed", .int(entry.changed))
            if let returned = keys.returned(of: entry.revision) { record("returned", .object(returned)) }
        }
    }

    /// Restores what a snapshot holds. The machine must be new and made with `init(replayingWith:)`.
    ///
    /// - Parameter unknown: The types whose past is known only from a later revision on, with that revision.
    package func restore(
        _ bytes: UnsafeRawBufferPointer, forgetting unknown: [String: Int] = [:]
    ) throws(TransferFailure) {
        precondition(types.isEmpty && stores.count == 0, "Only a new machine can take up a snapshot.")
        forgotten = unknown
        var records = RecordReader(bytes)
        let restoration = try Restoration(of: try records.bus(), in: self)
        while let record = try records.next() {
            if isForgotten(record) { continue }
            guard try restoration.take(record) else {
                throw TransferFailure("The snapshot holds a \(record.kind), which is unknown.")
            }
        }
        _ = try restoration.finish()
    }
}

extension StateMachine {
    /// A digest that differs if two buses do, as far as a log keeps them. It covers every store's address, its state byte for
    /// byte, its revision, and whether it is ephemeral; and every timer and lease. It covers neither creators nor the numbers
    /// of identities, nor the stores of views, which follow from the others.
    package var stateDigest: String { stateDigest(leavingOut: []) }

    /// The digest of everything but the stores, timers and leases of these types.
    package func stateDigest(leavingOut types: Set<String>) -> String {
        let line = ByteWriter()
        let sum = ByteWriter()
        for entry in typesInOrder
        where entry.view == nil && entry.kept != .none && !types.contains(entry.name) {
            for index in entry.inOrder {
                let record = stores.pointer(index)
                line.clear()
                line.append(quoted: "\(entry.name)/\(record.pointee.name)")
                line.append(decimal: record.pointee.revision)
                line.append(record.pointee.owner >= 0 ? "e" : "p")
                line.append(jsonObject: record.pointee.state)
                Self.add(line, to: sum)
            }
        }
        forEachTimerLine(leavingOut: types) { Self.add($0, to: sum) }
        return StateTransfer.text(of: DeduplicationTable.digest(of: sum.bytes))
    }

    private static func add(_ line: ByteWriter, to sum: ByteWriter) {
        sum.append(raw: StateTransfer.text(of: DeduplicationTable.digest(of: line.bytes)))
        guard sum.count > 1 << 16 else { return }
        let so = DeduplicationTable.digest(of: sum.bytes)
        sum.clear()
        sum.append(raw: StateTransfer.text(of: so))
    }
}
