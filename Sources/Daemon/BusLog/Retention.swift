/// How much history is kept: as much as stays within all three limits. The newest snapshot and what comes after it are
/// kept in any case.
package struct Retention: Sendable {
    /// Most commits between the oldest snapshot and now.
    package var commits: Int
    /// The greatest age of the oldest snapshot, in milliseconds.
    package var age: Int
    /// Most bytes of entries and snapshots.
    package var bytes: Int

    package init(commits: Int, age: Int, bytes: Int) {
        self.commits = commits
        self.age = age
        self.bytes = bytes
    }
}
