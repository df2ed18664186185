import BusEngine
import BusJSON
import BusLogic
import TestSupport
import Testing

/// A million random and injured lines: each is answered once, nothing crashes, hangs or is left behind.
@Suite struct HostileLinesTests {
    // A sanitizer slows each line down.
    #if SANITIZE
        private static let linesOfAPart = 10_000
    #else
        private static let linesOfAPart = 250_000
    #endif

    @Test(arguments: 0..<4)
    func aMillionHostileLinesAreEachAnsweredOnce(part: Int) throws {
        var random = SeededGenerator(seed: UInt64(part) + 77)
        var configuration = EngineConfiguration(epoch: "e", ownUID: 990, version: "test")
        configuration.limits.daemon.line = 4096
        configuration.limits.bus.stores = 50
        configuration.limits.daemon.subscriptions = 8
        let engine = Engine(configuration, types: [try DeclaredType(definition: SampleTypes.note)])
        var client = engine.connect(.unix(uid: 1000, pid: 1))
        let maps = MemoryMaps()

        for number in 0..<Self.linesOfAPart {
            let (line, isEmpty) = Self.line(using: &random)
            engine.beginTurn(at: 1_795_000_000_000 + number)
            line.withUnsafeBytes { engine.receive(client, $0) }
            engine.tick()
            for case .map(let output) in engine.takeOutputs() { maps.perform(output, engine) }
            let (replies, isWhole) = Self.take(engine, client)
            let silent = isEmpty || line.contains(sub: Array(#""ack":false"#.utf8))
            if !isWhole || (!silent && replies != 1) || replies > 1 {
                Issue.record(
                    "Part \(part), line \(number) had \(replies) replies: \(String(decoding: line, as: UTF8.self))"
                )
                return
            }
            engine.takeReady { _ in }
            if random.oneIn(500) {
                engine.disconnect(client)
                client = engine.connect(.unix(uid: 1000, pid: 1))
            }
        }
        engine.disconnect(client)
        #expect(engine.connectionCount == 0)
        #expect(engine.subscriberCount == 0)
        #expect(engine.storeCount <= 50)
    }

    /// One line with its end, and whether it is an empty one.
    private static func line(using random: inout SeededGenerator) -> ([UInt8], Bool) {
        let request = Array(SampleRequests.all.randomElement(using: &random)!.utf8)
        var line: [UInt8]
        switch Int.random(in: 0..<10, using: &random) {
        case 0: line = randomSoup(using: &random)
        case 1:
            line = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                .random(in: 0...255, using: &random)
            }
        case 2: line = request
        case 3: line = Array(repeating: UInt8(ascii: "["), count: Int.random(in: 0..<200, using: &random))
        default: line = mutated(request, using: &random)
        }
        line.removeAll { $0 == 10 }
        let isEmpty = line.isEmpty || line == [13]
        return (line + [10], isEmpty)
    }

    /// Takes everything the engine has for a client: how many replies, and whether all of it is whole lines of JSON.
    private static func take(_ engine: Engine, _ client: ConnectionID) -> (replies: Int, isWhole: Bool) {
        let bytes = engine.takeOutput(of: client)
        var replies = 0
        for line in bytes.split(separator: 10, omittingEmptySubsequences: true) {
            guard let value = try? JSON(parsing: Array(line)) else { return (replies, false) }
            if value["event"] == nil { replies += 1 }
        }
        return (replies, bytes.isEmpty || bytes.last == 10)
    }
}

extension [UInt8] {
    fileprivate func contains(sub: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: sub) }
    }
}
