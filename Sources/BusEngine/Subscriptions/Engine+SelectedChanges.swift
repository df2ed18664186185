/// Which stores changed in what a shape selects, noted while one of its subscribers lags behind: of all others its
/// subscribers know already what they would be told.
struct SelectedChanges {
    /// All changes after this one are noted, in the order of all changes to stores.
    let since: Int
    /// The last change of each store.
    fileprivate(set) var last: [Int32: Int] = [:]
}

extension Engine {
    /// A subscriber of the shape is about to lag: changes after this one will be noted.
    @inline(__always)
    func beginNoting(_ shape: Shape, after sequence: Int) {
        guard shape.hasSelection, shape.selectedChanges == nil else { return }
        shape.selectedChanges = SelectedChanges(since: sequence)
    }

    /// The same in the midst of a commit, whose changes are to be told later.
    func beginNotingCommit(_ shape: Shape) {
        guard shape.hasSelection, shape.selectedChanges == nil else { return }
        beginNoting(shape, after: sequenceBefore)
        for store in shape.content?.selected ?? [] { noteSelected(store, of: shape) }
    }

    /// What a shape selects of a store has changed.
    func noteSelected(_ store: Int32, of shape: Shape) {
        guard shape.selectedChanges != nil else { return }
        let sequence = stores.pointer(store).pointee.sequence
        guard shape.selectedChanges!.last.updateValue(sequence, forKey: store) == nil else { return }
        selectedChangeCount += 1
        // Who does not read must not make the bus hold more and more; then more is told than need be.
        if selectedChangeCount > Limits.selectedChanges { endNoting(shape) }
    }

    /// Nobody lags any more, or there is too much to note.
    func endNoting(_ shape: Shape) {
        guard let changes = shape.selectedChanges else { return }
        selectedChangeCount -= changes.last.count
        shape.selectedChanges = nil
    }

    /// Whether it is known that nothing a shape selects of a store has changed after `start`.
    func isUntouched(_ store: Int32, for shape: Shape, after start: Int) -> Bool {
        guard let changes = shape.selectedChanges, changes.since <= start else { return false }
        return changes.last[store] ?? 0 <= start
    }
}
