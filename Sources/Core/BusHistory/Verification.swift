/// Checks that the log's snapshots are the states that its commits lead to.
package struct Verification {
    /// The finding about one snapshot.
    package struct Finding: Sendable {
        package let revision: Int
        package let stores: Int
        package let digest: String
        /// Why it can't be trusted; nil if it can.
        package let trouble: String?
    }

    /// Replays the whole log from its oldest snapshot on, and compares with every later one on the way. `found` is
    /// called for each, and for the end of the log.
    package static func verify(
        _ source: some PastSource, _ replayer: Replayer, progress: (Int) -> Void = { _ in },
        found: (Finding) -> Void
    ) throws(PastFailure) -> Bool {
        let revisions = try source.snapshots()
        guard let oldest = revisions.first else {
            throw PastFailure(.gone, "The log holds no snapshot to begin with; restore it from a backup.")
        }
        let machine = try replayer.restored(oldest, from: source)
        found(
            Finding(revision: oldest, stores: machine.storeCount, digest: machine.stateDigest, trouble: nil))
        var isRight = true
        for revision in revisions.dropFirst() {
            try replayer.apply(revision, to: machine, from: source, progress)
            var (digest, trouble) = (machine.stateDigest, String?.none)
            do throws(PastFailure) {
                let stored = try replayer.restored(revision, from: source)
                if stored.stateDigest(leavingOut: Set(machine.forgotten.keys)) != digest {
                    trouble = "the commits make other states than this snapshot holds"
                } else if stored.forgotten != machine.forgotten {
                    // Its other types are compared from here on.
                    machine.recollect(stored)
                    digest = machine.stateDigest
                }
            } catch {
                trouble = error.message
            }
            if trouble != nil { isRight = false }
            found(
                Finding(
                    revision: revision, stores: machine.storeCount, digest: digest, trouble: trouble)
            )
        }
        try replayer.apply(.max, to: machine, from: source, progress)
        if machine.revision > revisions.last! {
            found(
                Finding(
                    revision: machine.revision, stores: machine.storeCount, digest: machine.stateDigest,
                    trouble: nil))
        }
        return isRight
    }
}
