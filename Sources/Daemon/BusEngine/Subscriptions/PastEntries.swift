/// Entries of the log that a connection is being told of, and how far that has come. What was asked of the log is kept here;
/// what is still in memory stays there.
final class PastEntries: CountedOutput {
    enum Source {
        /// The answer of the log, and the revision up to which it goes.
        case answer([UInt8], through: Int)
        /// The batch that began after this revision.
        case batch(after: Int)
    }

    let source: Source
    /// Where the next entry begins.
    @exclusivity(unchecked) var offset = 0
    @exclusivity(unchecked) var countedBytes = 0

    init(_ source: Source) { self.source = source }
}
