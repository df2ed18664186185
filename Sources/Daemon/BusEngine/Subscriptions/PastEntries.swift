/// Entries of the log that a connection is being notified of, and how far that has come. Answers of the log are kept here;
/// entries that are still in memory stay there.
final class PastEntries: CountedOutput {
    enum Source {
        /// The answer of the log, and its last revision.
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
