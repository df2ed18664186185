import BusLogic
import BusMachine

/// Makes state machines of the past: the newest good snapshot, then the commits after it. It serves the start of a
/// daemon, its snapshots, clients' queries and `--verify`.
package struct Replayer {
    /// Types that need not be compiled from their definitions; those in code can't be.
    private let knownTypes: [any StateType]
    /// The name of the history where its snapshots do not say it.
    private let epoch: String
    /// Called with snapshots that could not be used.
    private let report: (PastFailure) -> Void
    /// Called between batches of commits: whether anyone still waits for the machine.
    let isWanted: () -> Bool

    /// Seeds the hashing of addresses and keys, which clients have chosen: a secret of the caller.
    private let hashSeed: UInt64

    package init(
        knowing knownTypes: [any StateType], epoch: String = "", hashSeed: UInt64,
        report: @escaping (PastFailure) -> Void = { _ in }, isWanted: @escaping () -> Bool = { true }
    ) {
        self.knownTypes = knownTypes
        self.epoch = epoch
        self.hashSeed = hashSeed
        self.report = report
        self.isWanted = isWanted
    }

    /// The same, for a caller that may stop waiting for it.
    package func whileWanted(_ isStillWanted: @escaping () -> Bool) -> Replayer {
        let isWanted = isWanted
        return Replayer(knowing: knownTypes, epoch: epoch, hashSeed: hashSeed, report: report) {
            isStillWanted() && isWanted()
        }
    }

    static let abandoned = PastFailure(
        .abandoned, "The bus is stopping; ask again when it has started.")

    /// The bus as it was at a revision, or at the last one. `progress` is called now and
    /// then with the revision reached.
    package func machine(
        at revision: Int = .max, from source: some PastSource, progress: (Int) -> Void = { _ in }
    ) throws(PastFailure) -> StateMachine {
        let machine = try newestSnapshot(through: revision, from: source)
        try advance(machine, to: revision, from: source, progress: progress)
        guard revision == .max || machine.revision == revision else {
            throw PastFailure(
                .gone, "The log ends with revision \(machine.revision); revision \(revision) is not in it.")
        }
        return machine
    }

    /// Applies the commits that follow. Throws `abandoned` once nobody waits for it any more.
    package func advance(
        _ machine: StateMachine, to revision: Int, from source: some PastSource,
        progress: (Int) -> Void = { _ in }
    ) throws(PastFailure) {
        if machine.revision >= revision { return }
        try source.forEachGroup(after: machine.revision) { (group) throws(PastFailure) in
            guard isWanted() else { throw Self.abandoned }
            do throws(ReplayFailure) {
                try machine.replay(group.entries, through: revision)
            } catch {
                throw PastFailure(.damaged, error.message)
            }
            // Commits of which nothing is kept have their revisions in groups, and behind the last one.
            if machine.keepsLess || group.entries.isEmpty { machine.pass(through: min(group.last, revision)) }
            progress(machine.revision)
            return machine.revision < revision
        }
        if machine.keepsLess, revision < .max { machine.pass(through: revision) }
    }

    /// The machine of the newest snapshot; an older one is used where a newer one is damaged.
    private func newestSnapshot(
        through revision: Int, from source: some PastSource
    ) throws(PastFailure) -> StateMachine {
        var last = PastFailure(
            .gone, "The log holds no snapshot at or before revision \(revision); that past is gone.")
        for candidate in try source.snapshots().reversed() where candidate <= revision {
            do throws(PastFailure) {
                return try restored(candidate, from: source)
            } catch {
                report(error)
                last = error
            }
        }
        throw last
    }

    /// The bus as restored from one snapshot.
    package func restored(_ revision: Int, from source: some PastSource) throws(PastFailure) -> StateMachine {
        let bytes = try source.snapshot(revision)
        let machine = StateMachine(replayingWith: knownTypes, epoch: epoch, hashSeed: hashSeed)
        do throws(TransferFailure) {
            try bytes.span.withUnsafeBytes { (bytes) throws(TransferFailure) in try machine.restore(bytes) }
        } catch {
            throw PastFailure(.damaged, "The snapshot of revision \(revision): \(error.message)")
        }
        guard machine.revision == revision else {
            throw PastFailure(
                .damaged, "The snapshot of revision \(revision) is one of \(machine.revision).")
        }
        return machine
    }
}
