/// A log that is the copy of a member of a bus over several machines: beside its groups and snapshots it holds entries of
/// the shared log, in batches, and replicas of the bus at places of that log, so that a start goes on from there. It does
/// not interpret either. A log that never became a copy has none of this.
///
/// Guarantees: a group and a batch that were appended together are both there after any crash, or neither is. The last
/// two replicas are kept, and all batches behind the older of them. After `init` the newest replica and all batches
/// behind it have been read and found whole; where damage had cost some of them, `discard` is remembered.
extension LogFile {
    /// Whose copy this is; nil for a local bus.
    package var copyOf: (bus: String, member: String)? { copy.map { ($0.bus, $0.member) } }

    /// Makes the file a member's copy of a bus. Durable when it returns, whatever the mode. Of a copy of the same bus that
    /// was another member's, the incarnation is forgotten.
    ///
    /// - Throws: `notALog` if it is a copy of another bus.
    package func becomeCopy(ofBus bus: String, member: String) throws(LogFailure) {
        try usable()
        if let copy {
            guard copy.bus == bus else {
                throw LogFailure(
                    .notALog, path: path,
                    "The log \(path) is a copy of the bus \(copy.bus), not of \(bus); name another file in log.path, or move "
                        + "this one away.")
            }
            if copy.member == member { return }
        }
        try writeDurably { () throws(LogFailure) in
            try database.transaction { () throws(LogFailure) in
                try database.execute(SharedCopySchema.create)
                try Meta.write(CopyName.bus, bus, in: database)
                try Meta.write(CopyName.member, member, in: database)
                try Meta.write(CopyFact.incarnation.rawValue, nil, in: database)
            }
        }
        copy = try SharedCopy(database, contents, place: copy?.reached ?? 0)
    }

    /// The place in the shared log up to which everything is on disk here, in batches or by a replica; 0 for nothing.
    /// What stood there when the file was opened counts, since `begin` makes it durable.
    package func sharedPlace() -> Int { copy?.durable ?? 0 }

    // MARK: - Entries

    /// Writes a group and a batch of entries of the shared log in one transaction; after a throw the file is as before.
    /// Without commits and other entries no group is written.
    ///
    /// - Parameters:
    ///   - entries: As those of a group without a batch; so are the revisions and the time.
    ///   - shared: The place of the last entry in the batch, and the batch; nil: the group alone.
    package func append(
        _ entries: UnsafeRawBufferPointer, first: Int, last: Int, time: Int,
        shared: (place: Int, entries: UnsafeRawBufferPointer)?
    ) throws(LogFailure) {
        guard let shared else { return try append(entries, first: first, last: last, time: time) }
        guard let copy else { preconditionFailure("Only a member's copy holds the shared log.") }
        precondition(shared.place > copy.reached, "A batch follows the one before.")
        let group = nextGroup(entries, first: first, last: last, time: time)
        if entries.isEmpty, last < first {
            try append(nil) { _ throws(LogFailure) in
                try copy.write(place: shared.place, shared.entries, with: nil)
            }
        } else {
            try append(group) { insertion throws(LogFailure) in
                try copy.write(place: shared.place, shared.entries) { () throws(LogFailure) in
                    try group.insert(with: insertion)
                }
            }
        }
        copy.reached(shared.place, isDurable: mode == .always)
    }

    // MARK: - Facts

    /// Remembers a fact, or forgets it. Durable when it returns, whatever the mode; if it throws, it may have been done.
    package func remember(_ fact: CopyFact, _ value: String?) throws(LogFailure) {
        precondition(copy != nil, "Only a member's copy remembers what belongs to it.")
        try usable()
        // What is not there is forgotten already, once that is on disk.
        if value == nil, try Meta.text(fact.rawValue, in: database) == nil { return try sync() }
        try writeDurably { () throws(LogFailure) in
            try Meta.write(fact.rawValue, value, in: database)
        }
    }

    /// What was remembered last; nil for nothing.
    package func recall(_ fact: CopyFact) throws(LogFailure) -> String? {
        try usable()
        return try Meta.text(fact.rawValue, in: database)
    }

    // MARK: - Replicas

    /// Begins a replica; one that was begun and not ended is discarded. Its parts are written each for itself, so that
    /// groups and batches can be written between them, and count once `endReplica` returns.
    ///
    /// - Parameter place: The place in the shared log up to which it holds everything: at most what has been appended, and
    ///   not before the newest replica. With the first of a copy that holds nothing, it begins at any place.
    package func beginReplica(place: Int) throws(LogFailure) {
        guard let copy else { preconditionFailure("Only a member's copy holds replicas.") }
        precondition(
            place >= copy.replicas.first ?? 0 && (place <= copy.reached || copy.reached == 0),
            "A replica holds what has been appended, and is newer than those before.")
        cancelReplica()
        try usable()
        copy.pending = PendingReplica(
            place: place, digest: PartsDigest(of: place), isThere: copy.replicas.contains(place))
    }

    /// Writes the next part: at most a MiB. It is not synced: it counts only later.
    package func addReplicaPart(_ bytes: UnsafeRawBufferPointer) throws(LogFailure) {
        guard let copy, var replica = copy.pending else {
            preconditionFailure("A part belongs to a replica that was begun.")
        }
        precondition(bytes.count <= 1 << 20, "A part of a replica has at most a MiB.")
        if replica.isThere { return }
        try usable()
        try checkpointIfDue()
        try setFull(false)
        let insertion = try Statement(database, ReplicaInfo.partInsertion)
        insertion.bind(1, replica.place)
        insertion.bind(2, replica.digest.parts)
        insertion.bind(3, blob: bytes)
        try insertion.run()
        wroteUnsynced()
        replica.digest.add(bytes)
        copy.pending = replica
    }

    /// Makes the replica count, and those before the last two no longer; `trim` removes these and the batches before them.
    /// Durable when it returns, whatever the mode, and so is everything before it.
    package func endReplica() throws(LogFailure) {
        guard let copy, let replica = copy.pending else {
            preconditionFailure("Only a replica that was begun can end.")
        }
        if replica.isThere {
            copy.pending = nil
            return try sync()
        }
        try usable()
        try writeDurably { () throws(LogFailure) in
            try copy.end(ReplicaInfo(replica.place, replica.digest))
        }
        copy.pending = nil
        copy.synced(through: copy.reached)
    }

    /// Discards a replica that was begun; `trim` removes its parts.
    package func cancelReplica() {
        guard let copy, let replica = copy.pending else { return }
        copy.pending = nil
        if !replica.isThere { copy.isTidy = false }
    }

    /// Takes a step in removing what the last two replicas have made superfluous. `trim` does so too.
    ///
    /// - Parameter budget: The most rows to remove.
    /// - Returns: Whether there may be more to do.
    package func trimCopy(budget: Int) throws(LogFailure) -> Bool {
        guard let copy, !copy.isTidy else { return false }
        try usable()
        try checkpointIfDue()
        // If it is not on disk after a crash, it is done again.
        try setFull(false)
        let removed = try copy.removeOld(most: budget)
        if removed > 0 { wroteUnsynced() }
        copy.isTidy = removed < budget
        return !copy.isTidy
    }
}
