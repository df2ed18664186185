import Testing

/// Seeded clients, arbitrary interleavings and pieces of bytes: every mirror equals the model at every
/// revision it is told of, and every reply is what the model says. A failure names its seed.
@Suite struct SimulationTests {
    private static let turns = 350

    @Test(arguments: 0..<40)
    func everyMirrorEqualsTheModelAtEveryRevision(seed: Int) throws {
        do {
            try Simulation(seed: UInt64(seed)).run(turns: Self.turns)
        } catch {
            Issue.record("Seed \(seed): \(error)")
        }
    }

    /// The simulation is worth something only if it drives the bus into its corners.
    @Test func simulationReachesTheCorners() throws {
        var reached = SimulationFigures()
        for seed in 0..<9 {
            let simulation = try Simulation(seed: UInt64(seed))
            try simulation.run(turns: Self.turns)
            reached += simulation.figures
        }
        #expect(reached.coalesced > 20)
        #expect(reached.parts > 20)
        #expect(reached.handOvers > 50)
        #expect(reached.pauses > 1000)
        #expect(reached.multicasts > 500)
        #expect(reached.pipelines > 500)
        #expect(reached.familiar > 1200)
        #expect(reached.replies > 4000)
        #expect(reached.causes > 2500)
    }
}
