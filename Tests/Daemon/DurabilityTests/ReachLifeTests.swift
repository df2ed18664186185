import Testing

/// What types say with `for` and `commits` decides what is told of their past: buses of every kind, against a model that
/// forgets nothing. A failure names its seed.
@Suite struct ReachLifeTests {
    @Test(arguments: 0..<2) func whatIsToldOfThePastIsWhatTheModelSays(part: Int) throws {
        var counts = [0, 0, 0, 0]
        for seed in stride(from: part, to: 8, by: 2) {
            var life = ReachLife(seed: UInt64(seed))
            for end in 0..<4 { try life.run(until: end % 2 == 0 ? .kill : .stop) }
            counts = zip(counts, [life.gone, life.known, life.gaps, life.interrupted]).map(+)
        }
        #expect(counts.allSatisfy { $0 > 0 }, "gone, known, gaps, interrupted: \(counts)")
    }
}
