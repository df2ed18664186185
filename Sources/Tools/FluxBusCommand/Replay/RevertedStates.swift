import BusJSON

/// The old states that reverts of a recording restore. With other definitions they may differ, so they are
/// kept as the replay reaches them.
final class RevertedStates {
    /// Stores needed, by the revision at which they are.
    private var wanted: [Int: Set<String>] = [:]
    private var states: [Int: [String: JSON]] = [:]

    /// Reads a whole recording to learn which states will be needed.
    init(_ reader: inout RecordingReader) throws {
        while let entry = try reader.next() {
            guard case .commit(let commit) = entry, let (store, revision) = commit.reverted else { continue }
            wanted[revision, default: []].insert(store)
        }
    }

    /// Keeps the states needed of a revision that has just been reached.
    func note(at revision: Int, in bus: ReplayBus) {
        guard let stores = wanted[revision] else { return }
        note(Array(stores), at: revision, in: bus)
    }

    /// The same, for some stores only.
    func note(_ stores: [String], at revision: Int, in bus: ReplayBus) {
        for store in stores where wanted[revision]?.contains(store) ?? false {
            states[revision, default: [:]][store] = bus.state(at: store)
        }
    }

    /// A store's state at a revision; nil when there was no such store.
    func state(of store: String, at revision: Int) -> JSON? { states[revision]?[store] }
}
