/// A place in a history at which a subscription can continue: a revision and the epoch it belongs to.
public struct ResumePoint: Sendable, Hashable {
    public let revision: Int
    public let epoch: String

    public init(revision: Int, epoch: String) {
        self.revision = revision
        self.epoch = epoch
    }
}
