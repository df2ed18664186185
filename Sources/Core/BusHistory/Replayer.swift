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
        let machine = try PastFailure.retrying { () throws(PastFailure) in
            let machine = try newestSnapshot(through: revision, from: source)
            try advance(machine, to: revision, from: source, progress: progress)
            return machine
        }
        guard revision == .max || machine.revision == revision else {
            throw PastFailure(
                .gone, "The log ends with revision \(machine.revision); revision \(revision) is not in it.")
        }
        return machine
    }

    /// Applies the commits that follow. Throws `abandoned` once nobody waits for it any more. Where types become known on the
    /// way, which were not before, the machine takes up the snapshot from which on they are.
    package func advance(
        _ machine: StateMachine, to revision: Int, from source: some PastSource,
        progress: (Int) -> Void = { _ in }
    ) throws(PastFailure) {
        if machine.revision >= revision { return }
        while let next = try recollection(of: machine, through: revision, from: source) {
            try apply(next, to: machine, from: source, progress)
            do throws(PastFailure) {
                try recollect(machine, from: source)
            } catch {
                guard error.kind == .damaged else { throw error }
                // They stay unknown.
                report(error)
                break
            }
        }
        try apply(revision, to: machine, from: source, progress)
    }

    /// The next snapshot from which on types are known that the machine does not know; nil if there is none up to a revision.
    func recollection(
        of machine: StateMachine, through last: Int, from source: some PastSource
    ) throws(PastFailure) -> Int? {
        guard let known = machine.forgotten.values.min(), known <= last else { return nil }
        return try source.snapshots().first { $0 >= max(known, machine.revision) && $0 <= last }
    }

    /// The machine takes up the snapshot of its revision.
    func recollect(_ machine: StateMachine, from source: some PastSource) throws(PastFailure) {
        machine.recollect(try restored(machine.revision, from: source))
    }

    /// Throws if what follows a revision has been thinned of other types than those that were not known there.
    func requireUnthinned(
        behind revision: Int, leavingOut unknown: [String: Int], in source: some PastSource
    ) throws(PastFailure) {
        guard try source.horizons().allSatisfy({ $0.value <= revision || unknown[$0.key] != nil }) else {
            throw .thinned
        }
    }

    /// Applies the commits up to a revision, of the types that the machine knows.
    func apply(
        _ revision: Int, to machine: StateMachine, from source: some PastSource, _ progress: (Int) -> Void
    ) throws(PastFailure) {
        let begin = machine.revision
        if begin >= revision { return }
        do throws(PastFailure) {
            try replay(on: machine, to: revision, from: source, progress)
        } catch {
            if error.kind != .abandoned {
                try requireUnthinned(behind: begin, leavingOut: machine.forgotten, in: source)
            }
            throw error
        }
        try requireUnthinned(behind: begin, leavingOut: machine.forgotten, in: source)
    }

    private func replay(
        on machine: StateMachine, to revision: Int, from source: some PastSource, _ progress: (Int) -> Void
    ) throws(PastFailure) {
        try source.forEachGroup(after: machine.revision) { (group) throws(PastFailure) in
            guard isWanted() else { throw Self.abandoned }
            do throws(ReplayFailure) {
                try machine.replay(group.entries, through: revision)
            } catch {
                throw PastFailure(.damaged, error.message)
            }
            // Commits of which nothing is kept have their revisions in groups, and behind the last one.
            if machine.mayHaveHoles || group.entries.isEmpty {
                machine.pass(through: min(group.last, revision))
            }
            progress(machine.revision)
            return machine.revision < revision
        }
        if machine.mayHaveHoles, revision < .max { machine.pass(through: revision) }
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
        let unknown = try source.horizons().filter { $0.value > revision }
        let bytes = try source.snapshot(revision)
        let machine = StateMachine(replayingWith: knownTypes, epoch: epoch, hashSeed: hashSeed)
        do throws(TransferFailure) {
            try bytes.span.withUnsafeBytes { (bytes) throws(TransferFailure) in
                try machine.restore(bytes, forgetting: unknown)
            }
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
