import BusEngine
import BusHistory
import BusJSON
import TestModes
import TestSupport
import Testing

/// A long read with `where` while what the log says comes between: a state of before, and that a commit is lost.
@Suite(.aloneOnly(because: "A member has no reads that wait while its log is heard."))
struct SlicedReadLogTests {
    private let bus: MemoryBus
    private let reader: ConnectionID
    private let stores = ["counter/a", "counter/b", "counter/c"]

    init() throws {
        var setup = MemoryBus.Setup()
        setup.stores = stores
        setup.log = MemoryLog()
        setup.limits.daemon.sliceWork = 1
        bus = try MemoryBus(setup)
        reader = bus.engine.connect(.unix(uid: 7, pid: 1))
    }

    private func give(_ line: String, from connection: ConnectionID) {
        Array((line + "\n").utf8).withUnsafeBytes { bus.engine.receive(connection, $0) }
    }

    /// What there is for the reader, when all is done.
    private func answer() throws -> JSON {
        bus.settle()
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 64)
        defer { pieces.deallocate() }
        var bytes: [UInt8] = []
        for piece in pieces.prefix(bus.engine.output(of: reader, into: pieces)) {
            bytes += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
        }
        bus.engine.sent(reader, bytes.count)
        return try JSON(parsing: String(decoding: bytes, as: UTF8.self))
    }

    @Test(arguments: 0..<12) func aStateThatComesBackIsLookedAtAgain(_ moment: Int) throws {
        let client = bus.connect(uid: 0)
        try client.ask(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        let writer = bus.engine.connect(.unix(uid: 0, pid: 1))
        give(#"{"op":"revert","store":"counter/a","revision":3}"#, from: writer)
        bus.engine.serveAll()
        let queries = bus.engine.takeOutputs().compactMap {
            if case .query(let query) = $0 { query } else { nil }
        }
        let query = try #require(queries.first)
        give(#"{"op":"get","type":"counter","where":"isEven"}"#, from: reader)
        for _ in 0..<moment { _ = bus.engine.serveNext() }
        let before = bus.engine.revision
        let past = PastAnswers(bus.written!, try bus.replay(), longestLine: 1 << 20)
        bus.engine.answer(query, with: past.answer(query))
        // The revert waits for its turn while others are served.
        while bus.engine.revision == before, bus.engine.hasWork { _ = bus.engine.serveNext() }
        #expect(bus.engine.revision == before + 1)
        let answer = try answer()
        let isBack = answer["revision"]?.int != before
        #expect(answer["states"]?.object?.keys == (isBack ? stores : Array(stores.dropFirst())), "\(answer)")
    }

    @Test(arguments: 0..<4) func aStoreWhoseCreationIsLostIsNotLookedAt(_ moment: Int) throws {
        let writer = bus.engine.connect(.unix(uid: 0, pid: 1))
        give(#"{"op":"get","type":"counter","where":"isEven"}"#, from: reader)
        for _ in 0..<moment { _ = bus.engine.serveNext() }
        let before = bus.engine.revision
        give(#"{"op":"create","store":"counter/A"}"#, from: writer)
        while bus.engine.revision == before, bus.engine.serveNext() != nil {}
        try #require(bus.engine.revision == before + 1)
        bus.engine.suspendCommits(reason: "The bus can't commit; try again later.")
        bus.engine.rewind(to: try bus.past(at: before))
        bus.engine.resumeCommits()
        let answer = try answer()
        #expect(answer["states"]?.object?.keys == stores, "\(answer)")
    }
}
