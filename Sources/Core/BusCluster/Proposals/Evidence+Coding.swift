/// Evidence as bytes: what a member keeps of it in a file of its own.
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
