import BusLog

/// What `log:` of the configuration says.
package struct LogSettings: Sendable {
    /// The log's file.
    package var path: Located<String>
    /// What must be on disk before anything leaves.
    package var sync = SyncMode.always
    /// How much of the past stays.
    package var retain = Retention(commits: 1_000_000, age: 30 * 86_400_000, bytes: 1 << 30)

    package init(path: Located<String>) { self.path = path }

    /// All of it, to tell whether it has changed.
    var text: String { "\(path.value) \(sync) \(retain.commits) \(retain.age) \(retain.bytes)" }
}
