import BusEngine

/// Makes engines of the past: the newest good snapshot, then the commits behind it. The start of a daemon, its snapshots,
/// the past that clients ask for and `--verify` are all this.
package struct Replayer {
    /// What definitions are compiled with; nothing else of it matters here.
    private let configuration: EngineConfiguration
    /// Told of snapshots that could not be used.
    private let report: (PastFailure) -> Void
    /// Asked between groups of commits: whether anybody still waits for what is being made.
    private let isWanted: () -> Bool

    package init(
        _ configuration: EngineConfiguration, report: @escaping (PastFailure) -> Void = { _ in },
        isWanted: @escaping () -> Bool = { true }
    ) {
        self.configuration = configuration
        self.report = report
        self.isWanted = isWanted
    }

    /// The same, for somebody who may stop waiting for it.
    package func whileWanted(_ isStillWanted: @escaping () -> Bool) -> Replayer {
        let isWanted = isWanted
        return Replayer(configuration, report: report) { isStillWanted() && isWanted() }
    }

    /// The bus as it was at a revision, or at the last one. `progress` hears now and then how far it has come.
    package func engine(
        at revision: Int = .max, from source: some PastSource, progress: (Int) -> Void = { _ in }
    ) throws(PastFailure) -> Engine {
        let engine = try newestSnapshot(through: revision, from: source)
        try carryOn(engine, to: revision, from: source, progress: progress)
        guard revision == .max || engine.revision == revision else {
            throw PastFailure(
                .gone, "The log ends with revision \(engine.revision); revision \(revision) is not in it.")
        }
        return engine
    }

    /// Carries out what came after. Throws `abandoned` once nobody wants it any more.
    package func carryOn(
        _ engine: Engine, to revision: Int, from source: some PastSource,
        progress: (Int) -> Void = { _ in }
    ) throws(PastFailure) {
        if engine.revision >= revision { return }
        try source.forEachGroup(after: engine.revision) { (group) throws(PastFailure) in
            guard isWanted() else {
                throw PastFailure(.abandoned, "The bus is stopping; ask again when it has started.")
            }
            do throws(ReplayFailure) {
                try engine.replay(group.entries, through: revision)
            } catch {
                throw PastFailure(.damaged, error.message)
            }
            progress(engine.revision)
            return engine.revision < revision
        }
    }

    /// An engine as a snapshot has it; an older one is used where a newer one is damaged.
    private func newestSnapshot(
        through revision: Int, from source: some PastSource
    ) throws(PastFailure) -> Engine {
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

    /// The bus as one snapshot has it.
    package func restored(_ revision: Int, from source: some PastSource) throws(PastFailure) -> Engine {
        let bytes = try source.snapshot(revision)
        let engine = Engine(replaying: configuration)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(HandOverFailure) in try engine.restore(bytes) }
        }
        if case .failure(let failure) = outcome {
            throw PastFailure(.damaged, "The snapshot of revision \(revision): \(failure.message)")
        }
        guard engine.revision == revision else {
            throw PastFailure(.damaged, "The snapshot of revision \(revision) is one of \(engine.revision).")
        }
        return engine
    }
}
