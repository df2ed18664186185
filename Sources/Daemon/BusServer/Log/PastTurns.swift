import BusEngine
import BusHistory
import BusMachine

/// Whose query about the past is answered next: the user's who has had the least time, and of that user's connections the one
/// that has. A query that takes several slices waits for its next one like any other.
package struct PastTurns {
    /// A query that waits, and how far it has come.
    package struct Waiting {
        package let query: LogQuery
        package let progress: PastProgress
    }

    private var waiting: [Waiting] = []
    /// How much time users, and the connections in the queue, have had, in nanoseconds.
    private var usedByUser: [Int: Int] = [:]
    private var used: [ConnectionID: Int] = [:]
    /// What the last slice of each connection took: next is the one that would be done first. By what they have had alone, one
    /// that asks for little would come after all others as soon as it had a little more.
    private var expected: [ConnectionID: Int] = [:]

    /// Times of so many connections and users are kept for those that come again soon.
    private static let timesKept = 4096

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds a query.
    package mutating func add(_ query: LogQuery) {
        // Who has not asked lately begins at the least of the others.
        let least = waiting.compactMap { used[$0.query.connection] }.min() ?? 0
        used[query.connection] = max(used[query.connection] ?? 0, least)
        let leastOfUsers = waiting.compactMap { usedByUser[$0.query.user] }.min() ?? 0
        usedByUser[query.user] = max(usedByUser[query.user] ?? 0, leastOfUsers)
        waiting.append(Waiting(query: query, progress: PastProgress()))
    }

    /// A query was worked on for so long, and is not answered yet.
    package mutating func putBack(_ one: Waiting) { waiting.append(one) }

    /// A query had so many nanoseconds.
    package mutating func charge(_ time: Int, to query: LogQuery) {
        used[query.connection]? += time
        expected[query.connection] = time
        usedByUser[query.user, default: 0] += time
        if waiting.isEmpty, used.count + usedByUser.count > Self.timesKept {
            (used, usedByUser, expected) = ([:], [:], [:])
        }
    }

    package mutating func forget(_ connection: ConnectionID) {
        waiting.removeAll { $0.query.connection == connection }
        used[connection] = nil
        expected[connection] = nil
    }

    /// Takes the next one.
    package mutating func takeNext() -> Waiting? {
        let index = waiting.indices.min { time(of: waiting[$0]) < time(of: waiting[$1]) }
        return index.map { waiting.remove(at: $0) }
    }

    private func time(of one: Waiting) -> (Int, Int) {
        let work = expected[one.query.connection] ?? 0
        return ((usedByUser[one.query.user] ?? 0) + work, (used[one.query.connection] ?? 0) + work)
    }
}
