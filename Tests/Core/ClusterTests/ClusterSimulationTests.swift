import BusCluster
import Foundation
import Testing

/// Members over a log with all its faults: every member has the same in the end, and nobody was told what is not so.
@Suite struct ClusterSimulationTests {
    /// How many seeds are tried.
    static let seeds = ProcessInfo.processInfo.environment["FLUXBUS_SEEDS"].flatMap(UInt64.init) ?? 100

    /// Further ones of a rough log, each of which came out wrong in a way of its own: a copy of the history before took what
    /// followed a new beginning for its own; a member waited for the end of a membership that was lost with the log; a snapshot
    /// that was compared with the log of before counted as compared, or was given by who had not yet seen that log's end.
    private static let roughSeeds: [UInt64] = [445, 861, 1319, 1537, 1606, 1828]

    @Test func everyMemberHasTheSameAndAnswersAreTrue() {
        let reached = Self.run(Array(0..<Self.seeds)) { $0.handsOver = $1 % 2 == 1 }
        // It is worth something only if it comes into the corners.
        #expect(reached.entries > 100 * Int(Self.seeds))
        #expect(reached.crashes > 2 * Int(Self.seeds))
        #expect(reached.cuts > 2 * Int(Self.seeds))
        #expect(reached.leases > Int(Self.seeds))
        #expect(reached.rollbacks > Int(Self.seeds) / 4)
        #expect(reached.losses > Int(Self.seeds) / 4)
        #expect(reached.epochs > Int(Self.seeds) / 10)
        #expect(reached.trims > Int(Self.seeds) / 4)
        #expect(reached.clamped > Int(Self.seeds) / 10)
        #expect(reached.setBack > Int(Self.seeds) / 10)
        #expect(reached.handOvers > Int(Self.seeds))
        #expect(reached.restored > Int(Self.seeds) / 10)
        #expect(reached.lapsed > Int(Self.seeds) / 10)
        #expect(reached.copiesBack > Int(Self.seeds) / 20)
    }

    /// The log is restored from backups that are older than what members keep, or loses what none of them has read.
    @Test func busBeginsAnewWhereNothingGoesOn() {
        let reached = Self.run(Array(0..<Self.seeds / 2) + Self.roughSeeds) { setup, _ in setup.isRough = true
        }
        #expect(reached.beginnings > Int(Self.seeds) / 10)
    }

    /// Seeds of stale relays each of which came out wrong: a relay gave a member entries that the log had lost, before the relay knew.
    /// The member went on behind them once the log had grown past their places, and never looked back.
    private static let staleSeeds: [UInt64] = [69, 115, 142, 153, 264, 329]

    @Test func staleRelaysMisleadNobodyForLong() {
        let reached = Self.run(Array(0..<Self.seeds / 10) + Self.staleSeeds) { setup, _ in
            setup.hasStaleRelays = true
        }
        #expect(reached.frozen > Int(Self.seeds) / 20)
    }

    /// Runs these seeds, and tells what happened in them. The first ten that fail are named.
    private static func run(
        _ seeds: [UInt64], _ prepare: (inout ClusterSimulation.Setup, _ seed: UInt64) -> Void
    ) -> ClusterFigures {
        var reached = ClusterFigures()
        var failures = 0
        for seed in seeds {
            do {
                var setup = ClusterSimulation.Setup()
                prepare(&setup, seed)
                let simulation = try ClusterSimulation(seed: seed, setup)
                try simulation.run()
                reached += simulation.figures
            } catch {
                failures += 1
                if failures <= 10 { Issue.record("Seed \(seed): \(error)") }
            }
        }
        #expect(failures == 0)
        return reached
    }
}
