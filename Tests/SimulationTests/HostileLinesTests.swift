import BusEngine
import BusJSON
import BusLogic
import TestSupport
import Testing

/// A million random and injured lines: each is answered once, nothing crashes, hangs or is left behind.
@Suite struct HostileLinesTests {
    /// Requests of every kind, to be injured.
    private static let requests: [String] = [
        #"{"op":"hello","id":1,"protocol":1,"client":"fuzz","token":"t"}"#,
        #"{"op":"dispatch","id":"a","type":"note","action":"add","payload":{"by":1}}"#,
        #"{"op":"dispatch","id":2,"store":"note/a","action":"put","payload":{"value":{"a":[1,2.5,null]}},"ifRevision":1}"#,
        #"{"op":"dispatch","type":"*","action":"add","payload":{"by":-1},"dryRun":true}"#,
        #"{"op":"dispatch","id":3,"actions":[{"type":"note","action":"add"},{"store":"note/b","action":"put","payload":{"value":1}}]}"#,
        #"{"op":"dispatch","type":"note","action":"add","key":"k1","after":3,"epoch":"e"}"#,
        #"{"op":"create","id":4,"store":"note/a","state":{"count":7},"ephemeral":true,"ifMissing":true}"#,
        #"{"op":"drop","id":5,"store":"note/a","key":"k2"}"#,
        #"{"op":"get","id":6,"match":"n*/*","select":["/value/a","/count"],"limit":2,"after":"note/a"}"#,
        #"{"op":"stores","id":7,"match":"*/*","limit":1}"#, #"{"op":"types","id":8,"type":"note"}"#,
        #"{"op":"subscribe","id":9,"type":"note","select":["/count"],"format":"patch","initial":true,"cause":true}"#,
        #"{"op":"subscribe","id":10,"match":"note/?","since":2,"epoch":"e","actions":true}"#,
        #"{"op":"unsubscribe","id":11,"sub":1}"#, #"{"op":"sync","id":12}"#,
        #"{"op":"history","id":13,"since":1,"until":2,"limit":3,"type":"note"}"#,
        #"{"op":"revert","id":14,"store":"note/a","revision":1,"ifRevision":2}"#,
        #"{"op":"will","id":15,"actions":[{"type":"note","action":"add","payload":{"by":2}}]}"#,
        #"{"op":"stats","id":16}"#, #"{"op":"ping","id":17}"#, #"{"op":"reload","id":18}"#,
    ]

    @Test(arguments: 0..<4)
    func aMillionHostileLinesAreEachAnsweredOnce(part: Int) throws {
        var random = SeededGenerator(seed: UInt64(part) + 77)
        var configuration = EngineConfiguration(epoch: "e", ownUID: 990, version: "test")
        configuration.limits.daemon.line = 4096
        configuration.limits.bus.stores = 50
        configuration.limits.daemon.subscriptions = 8
        let engine = Engine(configuration, types: [try DeclaredType(definition: Self.note)])
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 64)
        defer { pieces.deallocate() }
        var client = engine.connect(.unix(uid: 1000, pid: 1))

        for number in 0..<250_000 {
            let (line, isEmpty) = Self.line(using: &random)
            engine.beginTurn(at: 1_795_000_000_000 + number)
            line.withUnsafeBytes { engine.receive(client, $0) }
            engine.tick()
            let (replies, isWhole) = Self.take(engine, client, pieces)
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
        let request = Array(requests.randomElement(using: &random)!.utf8)
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
    private static func take(
        _ engine: Engine, _ client: ConnectionID, _ pieces: UnsafeMutableBufferPointer<OutputPiece>
    ) -> (replies: Int, isWhole: Bool) {
        var bytes: [UInt8] = []
        while engine.hasOutput(client) {
            var count = 0
            for piece in pieces.prefix(engine.output(of: client, into: pieces)) {
                bytes += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
                count += piece.count
            }
            engine.sent(client, count)
        }
        var replies = 0
        for line in bytes.split(separator: 10, omittingEmptySubsequences: true) {
            guard let value = try? JSON(parsing: Array(line)) else { return (replies, false) }
            if value["event"] == nil { replies += 1 }
        }
        return (replies, bytes.isEmpty || bytes.last == 10)
    }

    private static let note: JSON = [
        "type": "note",
        "initial": ["count": 0, "value": .null],
        "computed": ["double": ["*": [["var": "count"], 2]]],
        "actions": [
            "add": [
                "payload": ["by": ["type": "integer", "default": 1]],
                "increment": ["count": ["var": "payload.by"]],
            ],
            "put": ["payload": ["value": "any"], "set": ["value": ["var": "payload.value"]]],
        ],
    ]
}

extension [UInt8] {
    fileprivate func contains(sub: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: sub) }
    }
}
