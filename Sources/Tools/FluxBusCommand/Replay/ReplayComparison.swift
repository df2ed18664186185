import BusJSON
import BusLogic
import BusProtocol

/// Replays a recorded history with two sets of definitions, of which the first may be its own, and reports after each
/// commit which results differ.
final class ReplayComparison {
    /// How the results of one commit, or of the beginning, differ.
    struct Deviation {
        /// Nil at the beginning.
        let commit: RecordedCommit?
        /// Why the second definitions refuse it; nil if they do not.
        let refusal: ReplayBus.Refusal?
        /// The same of the first; the recorded ones refuse nothing.
        let refusalBefore: ReplayBus.Refusal?
        /// The parts of states that differ, and did not differ so before.
        let stores: [(address: String, differences: [StateDifference])]
    }

    private let header: Recording.Header
    /// What comes after this revision is compared.
    private let start: Int
    private let recording: ReplayRecording
    /// The first definitions, where they are not those of the recording.
    private let first: ReplayCandidate?
    private let second: ReplayCandidate
    /// How stores differ now; those that do not are left out.
    private var differing: [String: [StateDifference]] = [:]

    private(set) var commits = 0
    private(set) var deviating = 0
    /// Commits that only one of them refuses.
    private(set) var refused = 0

    /// The stores that differ now, ascending.
    var differingStores: [String] { differing.keys.sorted(by: UTF8Order.precedes) }
    /// No result has differed at any time.
    var isEqual: Bool { deviating == 0 }

    /// Compares from a revision on: with the states that the recorded definitions had made by then, migrated where others have a
    /// later version.
    ///
    /// - Parameters:
    ///   - first: Definitions; nil: those of the recording.
    ///   - second: The others.
    ///   - outline: Of the recording.
    init(
        _ header: Recording.Header, since start: Int, _ first: [DeclaredType]?, _ second: [DeclaredType],
        _ outline: RecordingOutline
    ) {
        self.header = header
        self.start = start
        let recording = ReplayRecording(header)
        self.recording = recording
        self.first = first.map { ReplayCandidate($0, recording, header, since: start, outline) }
        self.second = ReplayCandidate(second, recording, header, since: start, outline)
    }

    /// Handles the file's next line; returns the differences it made.
    func take(_ entry: Recording.Entry) throws -> [Deviation] {
        switch entry {
        case .definition(let definition): try recording.begin(with: definition)
        case .store(let address, let state):
            try recording.begin(with: address, state)
            if start == header.base { return [begin(with: address, state)].compactMap(\.self) }
        case .commit(let commit):
            try recording.carryOut(commit)
            if commit.revision > start { return [carryOut(commit)].compactMap(\.self) }
            if commit.revision == start {
                return recording.bus.addresses.compactMap {
                    begin(with: $0, recording.bus.state(at: $0)?.object ?? [:])
                }
            }
        }
        return []
    }

    private func begin(with address: String, _ state: JSONObject) -> Deviation? {
        deviation(
            nil, first?.begin(with: address, state), second.begin(with: address, state), at: [address])
    }

    private func carryOut(_ commit: RecordedCommit) -> Deviation? {
        commits += 1
        let before = first?.carryOut(commit)
        let refusal = second.carryOut(commit)
        // A store may exist on one side only.
        let touched = firstBus.addresses(touchedBy: commit).union(second.bus.addresses(touchedBy: commit))
        return deviation(commit, before, refusal, at: touched.sorted(by: UTF8Order.precedes))
    }

    private var firstBus: ReplayBus { first?.bus ?? recording.bus }

    private func deviation(
        _ commit: RecordedCommit?, _ before: ReplayBus.Refusal?, _ refusal: ReplayBus.Refusal?,
        at addresses: [String]
    ) -> Deviation? {
        var stores: [(address: String, differences: [StateDifference])] = []
        for address in addresses {
            let known = differing[address] ?? []
            let now = StateDifference.between(firstBus.state(at: address), second.bus.state(at: address))
            differing[address] = now.isEmpty ? nil : now
            let fresh = now.filter { !known.contains($0) }
            if !fresh.isEmpty { stores.append((address, fresh)) }
        }
        // Refused by both, it has the same result.
        let isRefusedByOne = (before == nil) != (refusal == nil)
        guard isRefusedByOne || !stores.isEmpty else { return nil }
        deviating += 1
        if isRefusedByOne { refused += 1 }
        return Deviation(commit: commit, refusal: refusal, refusalBefore: before, stores: stores)
    }
}
