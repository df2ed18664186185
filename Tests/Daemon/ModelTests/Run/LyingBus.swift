import BusJSON

/// A bus of which some lines are altered on their way: what the model has to notice.
final class LyingBus: BusUnderTest {
    private let bus: any BusUnderTest
    private let lie: (JSON) -> JSON?
    var epoch: String { bus.epoch }
    var hasManualTime: Bool { bus.hasManualTime }
    var canCrash: Bool { bus.canCrash }
    var ownUID: Int { bus.ownUID }
    var now: Int { bus.now }
    var isShared: Bool { bus.isShared }
    var begun: Int? { bus.begun }

    /// - Parameter lie: What a client receives instead of a line, or nil for nothing.
    init(_ bus: any BusUnderTest, _ lie: @escaping (JSON) -> JSON?) { (self.bus, self.lie) = (bus, lie) }

    func oldest(_ client: Int) -> Int { bus.oldest(client) }
    func connect(_ client: Int, uid: Int) throws { try bus.connect(client, uid: uid) }
    func close(_ client: Int) throws { try bus.close(client) }
    func exchange(_ client: Int, _ line: String) throws -> [JSON] {
        try bus.exchange(client, line).compactMap(lie)
    }
    func received(_ client: Int, through revision: Int) throws -> [JSON] {
        try bus.received(client, through: revision).compactMap(lie)
    }
    func settle(through revision: Int) throws { try bus.settle(through: revision) }
    func setReading(_ client: Int, _ isReading: Bool) throws { try bus.setReading(client, isReading) }
    func advance(milliseconds: Int) throws { try bus.advance(milliseconds: milliseconds) }
    func handOver(_ definitions: [JSON]) throws { try bus.handOver(definitions) }
    func crash(now: Int) throws { try bus.crash(now: now) }
    func setDefinitions(_ definitions: [JSON]) throws { try bus.setDefinitions(definitions) }
}
