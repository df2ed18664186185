import BusJSON

/// What a commit is besides its actions and its key.
public final class CommitDetails {
    /// Stores that the commit creates, replaces the state of, and drops.
    public var created: [Int32] = []
    public var replaced: [(store: Int32, state: JSONObject)] = []
    public var dropped: [Int32] = []
    /// The stores of a batch that creates and drops some; `created` and `dropped` are among them.
    package private(set) var batch: BatchStores?
    /// The session that it ends.
    package var ended: SessionID?
    package var reverted: Reversion?
    /// Definitions that come into force, and names of those removed.
    package var definitions: [JSON] = []
    package var undefined: [String] = []
    /// Access rules that come into force; null: there are none from then on.
    package var access: JSON?

    /// What the log keeps more or less of from then on.
    package var policies: [StateMachine.PolicyChange] = []

    /// What it does to timers besides its actions.
    package var timer: TimerStep?

    package struct Reversion {
        package let store: String
        package let to: Int

        package init(store: String, to: Int) {
            self.store = store
            self.to = to
        }
    }

    package init() {}

    package convenience init(_ batch: BatchStores?) {
        self.init()
        guard let batch else { return }
        (created, dropped, self.batch) = (batch.created, batch.dropped, batch)
    }

    /// Stores whose records are there for the last time, or for this commit alone.
    package var gone: [Int32] { batch.map { $0.removed + $0.passing } ?? dropped }
    /// Those of them that were there before the commit.
    package var removed: [Int32] { batch?.removed ?? dropped }
    /// Stores whose records are there for the first time.
    package var made: [Int32] { batch.map { $0.created + $0.passing } ?? created }
}

/// A request that may be sent again: recognised by its key, committed once. Valid as long as the request's line.
public struct KeyedRequest {
    package let id: DeduplicationTable.ID
    package let digest: DeduplicationTable.Digest
    /// What the client had seen when it first sent the request.
    package let after: Int?
    /// Whether it was sent to the bus of an earlier epoch.
    package let isOfOtherEpoch: Bool

    package init(
        id: DeduplicationTable.ID, digest: DeduplicationTable.Digest, after: Int? = nil,
        isOfOtherEpoch: Bool = false
    ) {
        self.id = id
        self.digest = digest
        self.after = after
        self.isOfOtherEpoch = isOfOtherEpoch
    }
}
