import Foundation
import Testing

/// Buses that keep everything of some types, only the stores of others, and nothing of others again, in the same batches: nothing
/// acknowledged of what is kept is lost, no revision is used twice, mirrors are exact or start over, what is kept whole is known at
/// every revision, and what is not kept costs no byte. A failure names its
/// seed; `FLUXBUS_POLICY_SEEDS` makes it more of them.
@Suite struct PolicyLifeTests {
    private static let seeds =
        ProcessInfo.processInfo.environment["FLUXBUS_POLICY_SEEDS"].flatMap { Int($0) } ?? 40

    @Test(arguments: 0..<4) func nothingKeptIsLostAndNoRevisionComesTwice(part: Int) throws {
        var (resumed, resets, free, duplicates, reloads, thinned, asked) = (0, 0, 0, 0, 0, 0, 0)
        for seed in stride(from: part, to: Self.seeds, by: 4) {
            var life = PolicyLife(seed: UInt64(seed))
            for end in 0..<6 { try life.run(until: [.kill, .powerLoss, .stop][(end + seed) % 3]) }
            try life.finish()
            resumed += life.resumed
            resets += life.resets
            free += life.freeCommits
            duplicates += life.duplicates
            reloads += life.reloads
            thinned += life.thinned
            asked += life.asked
        }
        #expect([resumed, resets, free, reloads, thinned, asked].allSatisfy { $0 > 0 })
        // Only what power loss leaves on disk unanswered is found there again.
        if Self.seeds >= 400 { #expect(duplicates > 0) }
    }
}
