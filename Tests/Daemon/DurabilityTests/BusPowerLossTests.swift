import Testing

/// The whole way of a commit, from a client's line to the disk and back: an engine, the log's real file format, and a disk
/// that loses whatever was not synced. Guarantees 6, 7 and 9. A failure names its seed.
@Suite struct BusPowerLossTests {
    /// 30 buses, each through 10 ends: 300 in all, half of them power losses, half of them kills.
    @Test(arguments: 0..<30)
    func nothingAcknowledgedIsLostOrDoubled(seed: Int) throws {
        var life = BusLife(seed: UInt64(seed), mode: .always)
        for end in 0..<10 { try life.run(until: end % 2 == 0 ? .powerLoss : .kill) }
        try life.finish()
    }

    /// What had left may be lost with the power, but then clients hear of it: the epoch is another.
    @Test(arguments: 100..<115)
    func lostSecondsBeginANewEpoch(seed: Int) throws {
        var life = BusLife(seed: UInt64(seed), mode: .interval)
        for end in 0..<8 { try life.run(until: end % 2 == 0 ? .powerLoss : .kill) }
        try life.finish()
        #expect(life.epochs > 1, "seed \(seed)")
    }
}
