import Testing

/// Seeded clients, arbitrary interleavings and pieces of bytes: every mirror equals the truth at every
/// revision it is told of. A failure names its seed.
@Suite struct SimulationTests {
    @Test(arguments: 0..<40)
    func everyMirrorEqualsTheTruthAtEveryRevision(seed: Int) throws {
        do {
            try Simulation(seed: UInt64(seed)).run(steps: 1500)
        } catch {
            Issue.record("Seed \(seed): \(error)")
        }
    }

    /// The simulation is worth something only if it drives the bus into its corners.
    @Test func simulationReachesCoalescingSplittingAndHandOver() throws {
        var (coalesced, parts, handOvers, pauses, multicasts) = (0, 0, 0, 0, 0)
        for seed in 0..<9 {
            let simulation = try Simulation(seed: UInt64(seed))
            try simulation.run(steps: 1500)
            coalesced += simulation.coalesced
            parts += simulation.parts
            handOvers += simulation.handOvers
            pauses += simulation.pauses
            multicasts += simulation.multicasts
        }
        #expect(coalesced > 20)
        #expect(parts > 20)
        #expect(handOvers > 50)
        #expect(pauses > 1000)
        #expect(multicasts > 20)
    }
}
