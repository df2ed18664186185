/// What becomes of a member's copy in a log that is replaced.
extension Rescue {
    /// Copies what a survey found whole: the oldest replica from which the batches are complete, and everything behind it.
    /// What is not whole up to its end is left out, and the new file says that another copy is needed.
    static func copyShared(
        _ path: String, _ contents: LogContents, _ survey: SharedCopySurvey, into copy: Database
    ) throws(LogFailure) {
        try copy.execute(SharedCopySchema.create)
        guard survey.isUsable, let shared = try contents.sharedCopy() else {
            if try Meta.text(CopyFact.discard.rawValue, in: copy) == nil {
                try Meta.write(CopyFact.discard.rawValue, discarded(path), in: copy)
            }
            return
        }
        let begin = try oldest(shared, survey)
        for replica in try shared.replicas() where replica.place >= begin {
            if shared.isWhole(replica) { try copyReplica(replica, shared, into: copy) }
        }
        let insertion = try Statement(copy, SharedBatch.insertion)
        try shared.forEachBatch(behind: begin, through: .max) { batch throws(LogFailure) in
            try batch.insert(with: insertion)
        }
    }

    /// Why the copy in a rescued log is not to be used.
    static func discarded(_ path: String) -> String {
        "What \(path) held of the shared log was damaged; take a new copy from another member."
    }

    /// The place of the oldest whole replica from which all batches up to the end are whole.
    private static func oldest(
        _ shared: SharedCopyContents, _ survey: SharedCopySurvey
    ) throws(LogFailure) -> Int {
        guard let base = survey.replica else { return 0 }
        for replica in try shared.replicas().reversed() where shared.isWhole(replica) {
            do throws(LogFailure) {
                try shared.forEachBatch(behind: replica.place, through: base.place) { _ throws(LogFailure) in
                }
                return replica.place
            } catch {
                guard error.kind == .damaged || error.kind == .lost else { throw error }
            }
        }
        return base.place
    }

    private static func copyReplica(
        _ replica: ReplicaInfo, _ shared: SharedCopyContents, into copy: Database
    ) throws(LogFailure) {
        let insertion = try Statement(copy, ReplicaInfo.partInsertion)
        var number = 0
        try shared.forEachPart(of: replica) { bytes throws(LogFailure) in
            insertion.bind(1, replica.place)
            insertion.bind(2, number)
            insertion.bind(3, blob: bytes)
            try insertion.run()
            number += 1
        }
        try copy.execute(replica.insertion)
    }
}
