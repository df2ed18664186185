import BusJSON
import BusLogic
import BusProtocol
import BusState

/// How a commit changes one store.
public enum StoreChange {
    /// Nothing differs.
    case none
    /// Members have changed: `memberChanges` says which.
    case members
    /// Something has changed deeper: `entries` says what.
    case entries
}

/// Sees commits while they are made: each store that they change, while its previous value is still known.
public protocol CommitObserver {
    /// The commit has its revision, and no store has changed yet. `actions`: the plan holds the actions that caused it.
    func began(actions: Bool, _ details: CommitDetails?)
    /// How the store at a place of the write set differs. `isAlone`: the commit is about no other.
    func wrote(at place: Int, _ change: StoreChange, isAlone: Bool)
    /// The commit replaces the state of a store.
    func replaced(_ store: Int32, before: JSONObject)
    /// The commit creates a store.
    func created(_ store: Int32)
    /// The commit drops a store, whose record is there until `ends` returns.
    func dropped(_ store: Int32)
    /// Views gain stores, each of which is told as created.
    func viewsGain(_ stores: [Int32])
    /// They have gained and lost stores; the records of those that were lost are there until this returns.
    func viewsHaveGained(_ stores: [Int32], lost: [Int32])
    /// All changes have been made.
    func ends(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?)
}

extension CommitObserver {
    public func viewsGain(_ stores: [Int32]) {}
    public func viewsHaveGained(_ stores: [Int32], lost: [Int32]) {}
}

/// Nobody sees the commit, as when it is replayed.
private struct Unobserved: CommitObserver {
    func began(actions: Bool, _ details: CommitDetails?) {}
    func wrote(at place: Int, _ change: StoreChange, isAlone: Bool) {}
    func replaced(_ store: Int32, before: JSONObject) {}
    func created(_ store: Int32) {}
    func dropped(_ store: Int32) {}
    func ends(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {}
}

/// Commits what was applied: the revision is incremented, and every store that differs takes it.
extension StateMachine {
    /// Commits what was applied, seen by nobody.
    package func commit(_ details: CommitDetails? = nil) {
        _ = commit(by: .daemon, actions: false, key: nil, details, to: Unobserved())
    }

    /// Commits what was applied, together with `details`.
    ///
    /// - Returns: Whether the commit was large, so that more storage is held than most commits need.
    @inlinable @inline(__always)
    public func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?,
        to observer: some CommitObserver
    ) -> Bool {
        if place.pointee.isWatched, deriveViews(details) {
            return commitWithViewStores(by: principal, actions: actions, key: key, details, to: observer)
        }
        return commit(by: principal, actions: actions, key: key, details, hasViewStores: false, to: observer)
    }

    @inlinable @inline(never)
    func commitWithViewStores(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?,
        to observer: some CommitObserver
    ) -> Bool {
        commit(by: principal, actions: actions, key: key, details, hasViewStores: true, to: observer)
    }

    /// `hasViewStores`: the commit gives stores to views, or takes some away.
    @inlinable @inline(__always)
    func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?,
        hasViewStores: Bool, to observer: some CommitObserver
    ) -> Bool {
        place.pointee.revision &+= 1
        place.pointee.sequenceBefore = place.pointee.sequence
        place.pointee.changed = 0
        observer.began(actions: actions, details)
        if let details {
            commit(allOf: details, to: observer)
        } else if writeSet.count == 1, !hasViewStores {
            observer.wrote(at: 0, commitWrite(at: 0), isAlone: true)
        } else {
            commitWrites(to: observer)
        }
        if hasViewStores { commitViewStores(to: observer) }
        observer.ends(by: principal, actions: actions, key: key, details)
        if hasViewStores { removeViewStores(observer) }
        if let details { removeDropped(of: details) }
        return endCommit()
    }

    @inlinable @inline(never)
    func commitWrites(to observer: some CommitObserver) {
        for place in 0..<writeSet.count { observer.wrote(at: place, commitWrite(at: place), isAlone: false) }
    }

    @inlinable @inline(never)
    func commit(allOf details: CommitDetails, to observer: some CommitObserver) {
        list(storesOf: details)
        skipWrites(toStoresOf: details)
        commitWrites(to: observer)
        for (store, state) in details.replaced {
            if let before = commitReplacement(of: store, by: state) {
                observer.replaced(store, before: before)
            }
        }
        for store in details.created {
            commitCreation(of: store)
            observer.created(store)
        }
        for store in details.dropped {
            place.pointee.changed &+= 1
            observer.dropped(store)
        }
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
    @usableFromInline
    func commitWrite(at place: Int) -> StoreChange {
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

    @usableFromInline
    func list(storesOf details: CommitDetails) { if let batch = details.batch { list(batch) } }

    /// Writes to stores that the commit drops (as a will may) or creates are not published.
    @usableFromInline
    func skipWrites(toStoresOf details: CommitDetails) {
        for store in details.made + details.gone {
            let place = stores.pointer(store).pointee.write
            guard place >= 0 else { continue }
            writeSet[Int(place)].records = 0..<0
            writeSet[Int(place)].further = -1
        }
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
    package func appendMemberChanges(to writer: ByteWriter) -> Bool { memberChanges.appendMerge(to: writer) }

    /// Calls with the name of each member that the commit has changed of the store it was last looked at.
    package func forEachChangedMember(_ change: StoreChange, _ body: (String) -> Void) {
        switch change {
        case .none: break
        case .members: memberChanges.forEachMember(body)
        case .entries: for entry in entries.elements { body(entry.path[0]) }
        }
    }

    /// Collects the delta entries of one store of the write set in `entries`.
    package func gatherEntries(at place: Int) {
        entries.clear()
        let write = writeSet[place]
        if write.records.count == 1, write.further < 0 {
            let (record, store) = (undoLog.record(write.records.lowerBound), stores.pointer(write.store))
            return DeltaBuilder.append(only: record, in: &store.pointee.state, to: entries)
        }
        var ranges = [write.records]
        var further = Int(write.further)
        while further >= 0 {
            ranges.append(furtherRecords[further].records)
            further = Int(furtherRecords[further].before)
        }
        DeltaBuilder.append(
            ranges, of: undoLog, state: stores.pointer(write.store).pointee.state, to: entries)
    }

    /// Marks the store as changed in this commit.
    @inline(__always)
    private func bump(_ index: Int32, _ record: UnsafeMutablePointer<StoreRecord>) {
        // Those of views differ, too, and are not what was dispatched to.
        if record.pointee.creator != StoreRecord.view { changed &+= 1 }
        sequence &+= 1
        record.pointee.revision = revision
        record.pointee.sequence = sequence
        Unmanaged.passUnretained(types[Int(record.pointee.type)])._withUnsafeGuaranteedRef {
            $0.moveToNewest(index)
        }
    }

    /// Replaces a store's state, and returns the one before; nil if it is the same.
    @usableFromInline
    func commitReplacement(of index: Int32, by state: JSONObject) -> JSONObject? {
        let record = stores.pointer(index)
        let before = record.pointee.state
        if before == state { return nil }
        let size = state.encodedSize
        stateBytes += size - Int(record.pointee.size)
        record.pointee.size = Int32(size)
        record.pointee.state = state
        bump(index, record)
        if let parts { noteParts(parts, of: index, before: before) }
        return before
    }

    @usableFromInline
    func commitCreation(of index: Int32) {
        bump(index, stores.pointer(index))
        if let parts { noteParts(parts, ofCreated: index) }
    }

    @usableFromInline
    func removeDropped(of details: CommitDetails) {
        if let batch = details.batch { return remove(batch) }
        for store in details.dropped { remove(store) }
    }

    @usableFromInline
    func endCommit() -> Bool {
        let isLarge = writeSet.count > BusLimits.usualWrites
        forgetWrites()
        return isLarge
    }
}
