import Testing

/// Every timer fires exactly once, never early and in order; a store with a lease goes when nothing touched it, and not
/// before; through crashes, hand-overs, failing disks and a clock that is set back and forth. A failure names its seed.
@Suite struct TimerSimulationTests {
    private static let steps = 150

    @Test(arguments: 0..<40) func everythingHappensOnceAndInItsTime(seed: Int) throws {
        do {
            try TimerSimulation(seed: UInt64(seed)).run(steps: Self.steps)
        } catch {
            Issue.record("Seed \(seed): \(error)")
        }
    }

    @Test func simulationReachesWhatItIsAbout() throws {
        var (crashes, restarts, rewinds, stepsBack) = (0, 0, 0, 0)
        var (fired, refused, expired, late) = (0, 0, 0, 0)
        for seed in 40..<48 {
            let simulation = try TimerSimulation(seed: UInt64(seed))
            try simulation.run(steps: Self.steps)
            crashes += simulation.crashes
            restarts += simulation.restarts
            rewinds += simulation.rewinds
            stepsBack += simulation.stepsBack
            fired += simulation.model.fired
            refused += simulation.model.refused
            expired += simulation.model.expired
            late += simulation.model.late
        }
        #expect(crashes > 10)
        #expect(restarts > 10)
        #expect(rewinds > 10)
        #expect(stepsBack > 20)
        #expect(fired > 500)
        #expect(refused > 20)
        #expect(expired > 20)
        #expect(late > 100)
    }
}
