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

/// Commits what was applied: the revision is incremented, and every store that differs takes it.
///
/// The caller that publishes the commit drives this: `beginCommit`, then a look at each store that it writes, replaces,
/// creates or drops, then `endCommit`. So the change of a store is found once, while its previous value is still known.
extension StateMachine {
    @inlinable @inline(__always)
    public func beginCommit() {
        place.pointee.revision &+= 1
        place.pointee.sequenceBefore = place.pointee.sequence
        place.pointee.changed = 0
    }

    /// Counts the actions of the plan, which are being committed.
    @inlinable @inline(__always)
    public func countActions() {
        let steps = plan.steps.elements
        for place in 0..<steps.count {
            // The plan does not change meanwhile.
            let step = steps.baseAddress! + place
            Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef {
                $0.countCommit(of: step.pointee.action)
            }
        }
    }

    /// Commits the store at a place of the write set, and returns how it differs.
    package func commitWrite(at place: Int) -> StoreChange {
        let store = writeSet[place].store
        let record = stores.pointer(store)
        record.pointee.write = -1
        if gatherMemberChanges(at: place, record) {
            if memberChanges.isEmpty { return .none }
            entries.clear()
            bump(store, record)
            if let parts { noteParts(parts, at: place, store) }
            return .members
        }
        gatherEntries(at: place)
        if entries.isEmpty { return .none }
        bump(store, record)
        if let parts { noteParts(parts, at: place, store) }
        return .entries
    }

    /// This commit drops a store, so its earlier writes to the store are not published.
    package func skipWrite(to store: Int32) {
        let place = stores.pointer(store).pointee.write
        guard place >= 0 else { return }
        writeSet[Int(place)].records = 0..<0
        writeSet[Int(place)].further = -1
    }

    /// Collects what the commit did to a store in `memberChanges`; false if they can't express it.
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

    /// Writes the members that the commit changed as a merge patch; false where a patch can't express it.
    package func appendMemberChanges(
        of record: UnsafeMutablePointer<StoreRecord>, to writer: ByteWriter
    ) -> Bool {
        memberChanges.appendMerge(to: writer)
    }

    /// Collects the delta entries of one store of the write set in `entries`.
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

    /// Marks the store as changed in this commit.
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

    /// Replaces a store's state; false if it is the same.
    package func commitReplacement(of index: Int32, by state: JSONObject) -> Bool {
        let record = stores.pointer(index)
        if record.pointee.state == state { return false }
        let size = state.encodedSize
        stateBytes += size - Int(record.pointee.size)
        record.pointee.size = Int32(size)
        let before = parts == nil ? nil : record.pointee.state
        record.pointee.state = state
        bump(index, record)
        if let parts, let before { noteParts(parts, of: index, before: before) }
        return true
    }

    /// A created store is part of the bus from this commit on.
    package func commitCreation(of index: Int32) {
        bump(index, stores.pointer(index))
        if let parts { noteParts(parts, ofCreated: index) }
    }

    /// This commit drops a store; its record is there until the commit ends.
    package func commitDrop(of index: Int32) { changed += 1 }

    /// Ends the commit, which has been published. True: it was large, so more storage is held than most commits need.
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

    /// Makes the whole commit for a machine without an engine.
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
