/// What a member tells the others beside the log: how far it has a durable copy.
package struct MemberReport: Equatable, Sendable {
    package let stored: Int
    package let revision: Int

    package init(stored: Int, revision: Int) {
        self.stored = stored
        self.revision = revision
    }

    package var encoded: [UInt8] {
        var writer = CompactWriter()
        writer.add(stored)
        writer.add(revision)
        return writer.bytes
    }

    /// What somebody says to have; nil where it can't be read.
    package init?(_ bytes: [UInt8]) {
        var reader = CompactReader(bytes)
        // A later version may say more.
        guard let stored = reader.number(), let revision = reader.number() else { return nil }
        self.init(stored: stored, revision: revision)
    }
}
