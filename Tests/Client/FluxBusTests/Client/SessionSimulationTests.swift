import Testing

/// Connections break at any byte, yet nothing is committed twice, nothing is lost, and every mirror equals the bus. A failure
/// names its seed.
@Suite(.timeLimit(.minutes(10))) struct SessionSimulationTests {
    @Test(arguments: 0..<40)
    func everyDispatchCommitsOnceWhateverIsCut(seed: Int) throws {
        do {
            let simulation = try SessionSimulation(seed: UInt64(seed))
            try simulation.run(steps: 1100, killOneIn: 5)
            #expect(simulation.kills > 125 && simulation.dispatches > 100)
        } catch {
            Issue.record("Seed \(seed): \(error)")
        }
    }

    @Test func aQuietConnectionLosesNothingEither() throws {
        let simulation = try SessionSimulation(seed: 99)
        try simulation.run(steps: 1000, killOneIn: 1_000_000)
        #expect(simulation.kills == 0)
    }
}
