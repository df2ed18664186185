/// What a member had seen of the shared log when it proposed: by it the others notice that the log has lost something, or
/// that one of them has made something else of it.
package struct Evidence: Equatable, Sendable {
    /// The history in which it was seen.
    package let epoch: String
    package let link: ChainLink

    package init(epoch: String, link: ChainLink) {
        self.epoch = epoch
        self.link = link
    }
}
