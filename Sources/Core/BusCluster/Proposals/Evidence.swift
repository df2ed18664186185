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

/// Encodes evidence, as a member keeps it in its own file.
extension Evidence {
    package var encoded: [UInt8] {
        var writer = CompactWriter()
        writer.add(epoch)
        writer.add(link)
        return writer.bytes
    }

    /// Reads what was written; nil where this can't have been.
    package init?(_ bytes: [UInt8]) {
        var reader = CompactReader(bytes)
        guard let epoch = reader.text(most: ClusterLimits.epoch), let link = reader.link(), reader.isAtEnd
        else { return nil }
        self.init(epoch: epoch, link: link)
    }
}
