/// How far a history had come, as its owner noted it beside the log: a second witness, against which the next start holds
/// what it finds. A log that ends before it has lost commits that had left the daemon, whatever took them away.
///
/// It is never ahead of the log, since it is written after the commit, and may be behind it, since nobody syncs it: the
/// kernel keeps it when the daemon is killed, and that is when it is needed.
struct LogNote: Equatable {
    let epoch: String
    let revision: Int

    init(epoch: String, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    /// From the line `EPOCH REVISION`; nil if it is anything else.
    init?(line: Substring) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, !words[0].isEmpty, let revision = Int(words[1]), revision >= 0 else {
            return nil
        }
        self.init(epoch: String(words[0]), revision: revision)
    }

    var line: String { "\(epoch) \(revision)" }
}
