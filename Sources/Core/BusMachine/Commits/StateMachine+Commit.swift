import BusJSON
import BusLogic
import BusProtocol
import BusState

/// How a commit changes one store.
package enum StoreChange {
    /// Nothing differs.
    case none
    /// Members have changed: `memberChanges` says which.
    case members
    /// Something has changed deeper: `entries` says what.
    case entries
}

/// What was applied becomes a commit: the revision counts on, and every store that differs takes it over.
///
/// Whoever is to hear of it drives this: `beginCommit`, then a look at each store that it writes, replaces, makes or drops,
/// then `endCommit`. So the change of a store is looked at once, when it can still be seen what it was.
extension StateMachine {
    @inlinable @inline(__always)
    public func beginCommit() {
        place.pointee.revision &+= 1
        place.pointee.sequenceBefore = place.pointee.sequence
        place.pointee.changed = 0
    }

    /// Commits the store at a place of the write set, and says how it differs.
    package func commitWrite(at place: Int) -> StoreChange {
        let store = writeSet[place].store
        let record = stores.pointer(store)
        record.pointee.write = -1
        if gatherMemberChanges(at: place, record) {
            if memberChanges.isEmpty { return .none }
            entries.clear()
            bump(store, record)
            return .members
        }
        gatherEntries(at: place)
        if entries.isEmpty { return .none }
        bump(store, record)
        return .entries
    }

    /// A store goes with this commit, so nobody hears of what it did to it before.
    package func skipWrite(to store: Int32) {
        let place = stores.pointer(store).pointee.write
        guard place >= 0 else { return }
        writeSet[Int(place)].records = 0..<0
        writeSet[Int(place)].further = -1
    }

    /// What the commit did to a store, left in `memberChanges`; false if that can't hold it.
    @inline(__always)
    private func gatherMemberChanges(
        at place: Int, _ record: UnsafeMutablePointer<StoreRecord>
    ) -> Bool {
        let write = writeSet[place]
        if write.further >= 0 { return false }
        let records = write.records.isEmpty ? nil : undoLog.record(write.records.lowerBound)
        return memberChanges.gather(
            UnsafeBufferPointer(start: records, count: write.records.count), in: &record.pointee.state)
    }

    /// Writes the members that the commit changed as a merge patch; false where that can't say it.
    package func appendMemberChanges(
        of record: UnsafeMutablePointer<StoreRecord>, to writer: ByteWriter
    ) -> Bool {
        memberChanges.appendMerge(of: &record.pointee.state, to: writer)
    }

    /// The delta entries of one store of the write set, left in `entries`.
    package func gatherEntries(at place: Int) {
        entries.clear()
        let write = writeSet[place]
        if write.records.isEmpty { return }
        let state = stores.pointer(write.store)
        if write.records.count == 1, write.further < 0 {
            DeltaBuilder.appendOnly(undoLog.record(write.records.lowerBound), &state.pointee.state, entries)
        } else {
            gatherSeveral(write, &state.pointee.state)
        }
    }

    private func gatherSeveral(_ write: StoreWrite, _ state: UnsafePointer<JSONObject>) {
        if write.further < 0, DeltaBuilder.appendMembers(write.records, of: undoLog, state, to: entries) {
            return
        }
        var ranges = [write.records]
        var further = Int(write.further)
        while further >= 0 {
            ranges.append(furtherRecords[further].records)
            further = Int(furtherRecords[further].before)
        }
        DeltaBuilder.append(ranges, of: undoLog, state: state.pointee, to: entries)
    }

    /// The store changes in this commit.
    @inline(__always)
    private func bump(_ index: Int32, _ record: UnsafeMutablePointer<StoreRecord>) {
        changed &+= 1
        sequence &+= 1
        record.pointee.revision = revision
        record.pointee.sequence = sequence
        Unmanaged.passUnretained(types[Int(record.pointee.type)])._withUnsafeGuaranteedRef {
            $0.moveToNewest(index)
        }
    }

    /// Puts a state in the place of a store's; false if it is the same.
    package func commitReplacement(of index: Int32, by state: JSONObject) -> Bool {
        let record = stores.pointer(index)
        if record.pointee.state == state { return false }
        let size = state.encodedSize
        stateBytes += size - Int(record.pointee.size)
        record.pointee.size = Int32(size)
        record.pointee.state = state
        bump(index, record)
        return true
    }

    /// A store that was inserted is part of the bus from this commit on.
    package func commitCreation(of index: Int32) { bump(index, stores.pointer(index)) }

    /// A store goes with this commit; its record is there until the commit ends.
    package func commitDrop(of index: Int32) { changed += 1 }

    /// The commit is made, and everybody has heard of it.
    /// True: it was large, so storage is held that most need not.
    @discardableResult
    package func endCommit() -> Bool {
        let isLarge = writeSet.count > BusLimits.usualWrites
        forgetWrites()
        return isLarge
    }

    /// The same for a commit that drops stores.
    @discardableResult
    package func endCommit(dropping dropped: [Int32]) -> Bool {
        for index in dropped { remove(index) }
        return endCommit()
    }

    /// All of it for a machine that nobody stands in front of.
    package func commit(_ details: CommitDetails? = nil) {
        beginCommit()
        if let details { return commitAll(details) }
        for place in writeSet.indices { _ = commitWrite(at: place) }
        endCommit()
    }

    private func commitAll(_ details: CommitDetails) {
        for index in details.dropped { skipWrite(to: index) }
        for place in writeSet.indices { _ = commitWrite(at: place) }
        for (index, state) in details.replaced { _ = commitReplacement(of: index, by: state) }
        for index in details.created { commitCreation(of: index) }
        for index in details.dropped { commitDrop(of: index) }
        endCommit(dropping: details.dropped)
    }
}
