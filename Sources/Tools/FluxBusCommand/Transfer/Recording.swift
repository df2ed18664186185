import BusJSON

/// The file that `export` writes and `import` and `replay` read: what a bus was at one revision, and every commit after
/// it. NDJSON, in this order:
///
///     {"fluxbus":"export","form":1,"epoch":"…","revision":BASE,"until":LAST}
///     {"definition":{"type":"counter",…}}            each state type at BASE
///     {"store":"counter/kitchen","state":{…}}        each store at BASE
///     {"revision":BASE+1,"time":…,"by":…,"actions":[…]}   each commit through LAST, as `history` gives it
package enum Recording {
    /// The form of file that this version writes and reads.
    static let form = 1

    /// The first line.
    package struct Header: Equatable {
        /// The history that the revisions belong to.
        package var epoch: String
        /// The revision of the definitions and states.
        package var base: Int
        /// The last commit's revision; the base's when there are no commits.
        package var last: Int

        /// Commits in the file.
        var count: Int { last - base }

        package init(epoch: String, base: Int, last: Int) {
            self.epoch = epoch
            self.base = base
            self.last = last
        }
    }

    /// One line after the first.
    package enum Entry {
        case definition(JSON)
        case store(address: String, state: JSONObject)
        case commit(RecordedCommit)
    }
}
