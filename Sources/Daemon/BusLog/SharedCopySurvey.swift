/// The reliable contents of a member's copy: its newest whole replica, and the batches behind it as far as they are whole.
struct SharedCopySurvey {
    /// The newest whole replica; nil if it begins where the shared log does.
    private(set) var replica: ReplicaInfo?
    /// The place up to which it is whole.
    private(set) var place = 0
    /// Damage, in words; empty if there is none that matters.
    private(set) var problems: [String] = []
    /// Whether it has a replica to begin with and whole batches from there to its end.
    private(set) var isUsable = true

    /// - Parameter log: A member's copy.
    init(_ log: LogContents) throws(LogFailure) {
        isUsable = try noting { survey throws(LogFailure) in
            guard let contents = try log.sharedCopy() else { return }
            var replicas: [ReplicaInfo] = []
            try survey.noting { _ throws(LogFailure) in replicas = try contents.replicas() }
            for replica in replicas {
                let isWhole = try survey.noting { _ throws(LogFailure) in
                    try contents.forEachPart(of: replica) { _ throws(LogFailure) in }
                }
                guard isWhole else { continue }
                survey.replica = replica
                survey.place = replica.place
                break
            }
            try contents.forEachBatch(behind: survey.place, through: .max) { batch throws(LogFailure) in
                survey.place = batch.place
            }
        }
        // Without a replica it may be the end that is missing with it.
        if replica == nil, !problems.isEmpty { isUsable = false }
    }

    /// Runs what may find damage, and records it; false if it did.
    @discardableResult
    private mutating func noting(_ body: (inout Self) throws(LogFailure) -> Void) throws(LogFailure) -> Bool {
        do {
            try body(&self)
            return true
        } catch {
            // Batches that were removed, because a newer replica stood for them, are lost with that.
            guard error.kind == .damaged || error.kind == .lost else { throw error }
            problems.append(error.message)
            return false
        }
    }
}
