import Testing

/// Guarantees 6, 7 and 9 under everything that can happen to a disk and a daemon: nobody sees what is not in the log, nothing
/// that was acknowledged is lost or done twice, and the log makes the same states again. A failure names its seed.
@Suite struct LogSimulationTests {
    private static let steps = 130

    @Test(arguments: 0..<40) func nothingIsLostDoneTwiceOrSeenTooEarly(seed: Int) throws {
        do {
            try LogSimulation(seed: UInt64(seed)).run(steps: Self.steps)
        } catch {
            Issue.record("Seed \(seed): \(error)")
        }
    }

    @Test func simulationReachesCrashesFailuresAndRestarts() throws {
        var (crashes, failures, restarts, snapshots) = (0, 0, 0, 0)
        var (sharedTurns, sharedEntries, entriesReadInPlace) = (0, 0, 0)
        for seed in 40..<48 {
            let simulation = try LogSimulation(seed: UInt64(seed))
            try simulation.run(steps: Self.steps)
            crashes += simulation.crashes
            failures += simulation.failures
            restarts += simulation.restarts
            snapshots += simulation.snapshots
            sharedTurns += simulation.sharedTurns
            sharedEntries += simulation.sharedEntries
            entriesReadInPlace += simulation.entriesReadInPlace
        }
        #expect(crashes > 10)
        #expect(failures > 10)
        #expect(restarts > 5)
        #expect(snapshots > 10)
        #expect(sharedTurns > 300)
        #expect(sharedEntries > 60)
        #expect(entriesReadInPlace > 120)
    }
}
