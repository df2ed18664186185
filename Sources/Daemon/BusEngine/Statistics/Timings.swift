import BusJSON

/// How long things take, in nanoseconds, as `stats` tells it. The engine reads no clock: its owner measures, and records
/// here what it found.
package final class Timings {
    /// From the moment a turn begins until what it made is written.
    package let turn = Histogram()
    /// One request that commits, from its line to its reply; one in 64 requests is looked at.
    package let commit = Histogram()
    /// One request after another, from the reading of its bytes until its reply is written to the socket, log included.
    package let reply = Histogram()
    /// Writing a batch of commits to the log's file, including the sync where each write has one.
    package let logWrite = Histogram()
    /// A sync of the log in the background.
    package let fsync = Histogram()
    /// Commits in a batch.
    package let group = Histogram()

    /// What stands beside the clock's readings for `commit`; nil: no request is measured.
    package var stopwatch: (() -> Int)?

    /// One request in 64 is measured: one whose number has none of these bits.
    static let unsampled = 63

    private static let second = 1e9

    var json: JSON {
        .object([
            "turn": turn.json(unit: Self.second), "commit": commit.json(unit: Self.second),
            "reply": reply.json(unit: Self.second), "logWrite": logWrite.json(unit: Self.second),
            "fsync": fsync.json(unit: Self.second), "group": group.json(unit: 1),
        ])
    }
}
