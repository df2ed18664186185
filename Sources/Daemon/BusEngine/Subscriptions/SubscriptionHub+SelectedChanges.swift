import BusMachine

/// The stores that changed in what a group selects, recorded while one of its subscribers lags behind: of all others
/// its subscribers already have the current state.
struct SelectedChanges {
    /// All changes after this one are recorded, in the order of all changes to stores.
    let since: Int
    /// The last change of each store.
    fileprivate(set) var last: [Int32: Int] = [:]
}

extension SubscriptionHub {
    /// A subscriber of the group is about to lag: changes after this one are recorded.
    @inline(__always)
    func beginNoting(_ group: SubscriberGroup, after sequence: Int) {
        // A group that has not found all its stores does not hear of those that it has still to find.
        guard group.hasSelection, group.selectedChanges == nil, group.search == nil else { return }
        group.selectedChanges = SelectedChanges(since: sequence)
    }

    /// The same in the midst of a commit, whose changes are to be delivered later.
    func beginNotingCommit(_ group: SubscriberGroup) {
        guard group.hasSelection, group.selectedChanges == nil else { return }
        beginNoting(group, after: machine.sequenceBefore)
        for store in group.content?.selected ?? [] { noteSelected(store, of: group) }
    }

    /// Records that what a group selects of a store has changed.
    func noteSelected(_ store: Int32, of group: SubscriberGroup) {
        guard group.selectedChanges != nil else { return }
        let sequence = machine.stores.pointer(store).pointee.sequence
        guard group.selectedChanges!.last.updateValue(sequence, forKey: store) == nil else { return }
        selectedChangeCount += 1
        // A client that does not read must not make the bus hold more and more; then more is delivered than needed.
        if selectedChangeCount > DaemonLimits.selectedChanges { endNoting(group) }
    }

    /// No subscriber lags any more, or there is too much to record.
    func endNoting(_ group: SubscriberGroup) {
        guard let changes = group.selectedChanges else { return }
        selectedChangeCount -= changes.last.count
        group.selectedChanges = nil
    }

    /// Whether it is known that nothing a group selects of a store has changed after `start`.
    func isUntouched(_ store: Int32, for group: SubscriberGroup, after start: Int) -> Bool {
        guard let changes = group.selectedChanges, changes.since <= start else { return false }
        return changes.last[store] ?? 0 <= start
    }
}
