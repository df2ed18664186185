import BusJSON

/// One commit as recorded in the log.
package struct RecordedCommit {
    package let revision: Int
    /// When it was committed, in milliseconds since 1970.
    let time: Int
    /// The whole entry of the log.
    let line: JSON

    /// Nil when the line has no revision or time, so that it is no commit.
    init?(_ line: JSON) {
        guard let revision = line["revision"]?.int, let time = CommitText.milliseconds(of: line) else {
            return nil
        }
        self.revision = revision
        self.time = time
        self.line = line
    }

    /// The actions in order, each as in a request to dispatch it.
    var actions: [JSON] { line["actions"]?.array ?? [] }
    /// Stores that it created, with their states.
    var created: JSONObject { line["created"]?.object ?? [:] }
    /// Addresses of stores that it dropped.
    var dropped: [String] { (line["dropped"]?.array ?? []).compactMap(\.string) }
    /// The definitions that came into force with it: new ones and changed ones.
    var definitions: [JSON] { line["definitions"]?.array ?? [] }
    /// Names of the types removed by it.
    var undefined: [String] { (line["undefined"]?.array ?? []).compactMap(\.string) }
    /// Whether it changed definitions.
    var redefines: Bool { !definitions.isEmpty || !undefined.isEmpty }
    /// The store that it reverted, and to which revision; nil when it was no revert.
    var reverted: (store: String, to: Int)? {
        guard let reverted = line["reverted"], let store = reverted["store"]?.string else { return nil }
        return (store, reverted["to"]?.int ?? 0)
    }
    /// States that did not come from actions: of reverted stores, and of those changed by new definitions.
    var states: JSONObject { line["states"]?.object ?? [:] }
    /// No client caused it.
    var isByDaemon: Bool { line["by"]?["daemon"]?.bool == true }
    /// The user who caused it, where the kernel reported one.
    var uid: Int? { line["by"]?["uid"]?.int }
}
