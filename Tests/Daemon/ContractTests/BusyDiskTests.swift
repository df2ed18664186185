import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 7, first half: nothing that was computed from a commit leaves before the commit stands on disk.
@Suite(.inBothModes)
struct BusyDiskTests {
    /// Whatever is asked once a commit waits for the disk has to wait with it: it would tell of the commit.
    @Test(arguments: [
        Line.increment, #"{"op":"get","store":"counter/a"}"#, Line.sync, #"{"op":"stores"}"#,
        #"{"op":"types"}"#,
        #"{"op":"hello"}"#, #"{"op":"stats"}"#, #"{"op":"create","store":"counter/b"}"#,
        #"{"op":"drop","store":"counter/a"}"#, #"{"op":"reload"}"#, #"{"op":"history"}"#,
        #"{"op":"get","store":"counter/a","revision":1}"#,
        #"{"op":"revert","store":"counter/a","revision":1}"#,
        #"{"op":"subscribe","type":"counter"}"#, #"{"op":"subscribe","type":"counter","actions":true}"#,
        #"{"op":"will","actions":[]}"#, #"{"op":"dispatch","store":"counter/x","action":"increment"}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","ifRevision":1}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","dryRun":true}"#, "no JSON",
    ])
    func noReplyLeavesWhileTheDiskIsBusy(_ request: String) throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(uid: 0), bus.connect())
        bus.disk = .isBusy
        other.send(Line.increment)
        #expect(try client.ask(request).isEmpty)
        #expect(try other.all().isEmpty)
        bus.disk = .works
        #expect(try client.all().filter { $0["ok"] != nil }.count == 1)
        #expect(try other.all().count == 1)
    }

    @Test(arguments: [#""format":"merge""#, #""format":"patch""#, #""format":"state""#, #""actions":true"#])
    func noEventLeavesWhileTheDiskIsBusy(_ members: String) throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"subscribe","type":"counter",\#(members)}"#)
        bus.disk = .isBusy
        for _ in 0..<3 { other.send(Line.increment) }
        #expect(try client.all().isEmpty)
        bus.disk = .works
        #expect(try client.all().compactMap { $0["revision"]?.int } == [2, 3, 4])
        #expect(try other.all().compactMap { $0["revision"]?.int } == [2, 3, 4])
    }

    /// Equal commits take no room in the log, and silent ones none in an outbox; a slow disk lets only so many of them wait,
    /// half of them of one connection.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus requests wait for the log, in `ProposalQueue`, and not commits for the disk."
        ),
        .timeLimit(.minutes(10)))
    func onlySoManyCommitsWaitForTheDisk() throws {
        let bus = try MemoryBus.logging("counter/a")
        let clients = [bus.connect(), bus.connect(), bus.connect()]
        bus.disk = .isBusy
        let line = #"{"op":"dispatch","store":"counter/a","action":"increment","ack":false}"#
        let lines = Array(repeating: line, count: 1000).joined(separator: "\n")
        for _ in 0..<100 { clients[0].send(lines) }
        #expect((32_000..<36_000).contains(bus.engine.revision), "\(bus.engine.revision)")
        for client in clients[1...] { for _ in 0..<100 { client.send(lines) } }
        #expect((64_000..<70_000).contains(bus.engine.revision), "\(bus.engine.revision)")
        bus.disk = .works
        #expect(try clients[0].ask(Line.sync).last?["revision"]?.int == 300_001)
    }

    /// A flood of different commits fills a part of the batch that is written next, and then it waits; others do not, be it
    /// another connection of its user, or another user. So what is in a batch, and how long it takes, has a bound.
    @Test(.timeLimit(.minutes(10))) func floodWaitsForTheDiskAndOthersDoNot() throws {
        let bus = try MemoryBus.logging("counter/a", "value/a")
        let innocents = [bus.connect(uid: 1000), bus.connect(uid: 2000)]
        let flood = bus.connect(uid: 1000)
        bus.disk = .isBusy
        for part in 0..<40 { flood.send(Self.texts(100, from: 100 * part)) }
        let text = 250
        #expect(bus.engine.revision < 2 + (256 << 10) / text + 600, "\(bus.engine.revision)")
        for innocent in innocents {
            let before = bus.engine.revision
            for count in 1...10 {
                innocent.send(Line.increment)
                #expect(bus.engine.revision == before + count)
            }
        }
        // Each batch takes as much as the disk does, and no more; in the end everything is there, in order.
        var batches: [Int] = []
        while bus.engine.durableRevision < bus.engine.revision {
            let before = bus.engine.durableRevision
            bus.finishWrite()
            batches.append(bus.engine.durableRevision - before)
        }
        #expect(batches.allSatisfy { $0 < (128 << 10) / text + 600 }, "\(batches)")
        #expect(bus.engine.revision == 2 + 4000 + 20)
        for innocent in innocents { #expect(try innocent.all().count == 10) }
        #expect(try flood.all().count == 4000)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Users have equal parts of it, however many connections they have: fifty floods of one take no more than two do.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus requests wait for the log, in `ProposalQueue`, and not commits for the disk."
        ),
        .timeLimit(.minutes(10)))
    func usersShareWhatWaitsForTheDisk() throws {
        let bus = try MemoryBus.logging("counter/a", "value/a")
        let floods = (0..<20).map { _ in bus.connect(uid: 1000) }
        let (other, newcomer) = (bus.connect(uid: 2000), bus.connect(uid: 3000))
        bus.disk = .isBusy
        for part in 0..<2 { for flood in floods { flood.send(Self.texts(100, from: 100 * part)) } }
        let text = 250
        let first = bus.engine.revision
        #expect(first < 2 + (256 << 10) / text + 1000, "\(first)")
        for part in 0..<10 { other.send(Self.texts(100, from: 100 * part)) }
        // It is one of two now.
        #expect(bus.engine.revision - first >= 150)
        #expect(bus.engine.revision - first < (64 << 10) / text + 600)
        let before = bus.engine.revision
        newcomer.send(Line.increment)
        #expect(bus.engine.revision == before + 1)
        bus.disk = .works
        #expect(bus.engine.revision == 2 + 20 * 200 + 1000 + 1)
        #expect(try newcomer.all().count == 1)
    }

    private static func texts(_ count: Int, from first: Int) -> String {
        let padding = String(repeating: "x", count: 190)
        return (first..<first + count).map {
            #"{"op":"dispatch","store":"value/a","action":"set","payload":{"value":"\#(padding)\#($0)"}}"#
        }.joined(separator: "\n")
    }

    /// The engine does not stand still: what is committed meanwhile goes to disk as one group.
    @Test func busGoesOnWhileTheDiskIsBusy() throws {
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a") { $0.log = log }
        let client = bus.connect()
        let before = log.groups.count
        bus.disk = .isBusy
        for _ in 0..<100 { client.send(Line.increment) }
        #expect(bus.engine.revision == 101)
        #expect(bus.engine.durableRevision == 1)
        bus.disk = .works
        #expect(log.groups.count == before + 2)
        #expect(log.groups.suffix(2).map(\.first) == [2, 3])
        #expect(try client.all().compactMap { $0["revision"]?.int } == Array(2...101))
        #expect(try bus.isWhatTheLogSays())
    }

    /// What is said when everything is on disk need not wait for the next group.
    @Test func repliesLeaveAtOnceWhenNothingWaits() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        bus.disk = .isBusy
        #expect(try client.ask(Line.sync) == [["ok": true, "revision": 1]])
    }

    /// A reply that waits for one group does not wait for the next one as well, and the next one's do not leave with it.
    @Test(.aloneOnly(because: "A member writes entries of the shared log, also those without a commit."))
    func eachGroupLetsItsOwnRepliesGo() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, observer) = (bus.connect(), bus.connect())
        try observer.ask(#"{"op":"subscribe","type":"counter"}"#)
        bus.disk = .isBusy
        for _ in 0..<3 { client.send(Line.increment) }
        bus.finishWrite()
        #expect(try client.all().compactMap { $0["revision"]?.int } == [2])
        #expect(try observer.all().compactMap { $0["revision"]?.int } == [2])
        bus.finishWrite()
        #expect(try client.all().compactMap { $0["revision"]?.int } == [3, 4])
        #expect(try observer.all().compactMap { $0["revision"]?.int } == [3, 4])
    }

    @Test(.aloneOnly(because: "Nobody is answered any more whose request is on its way to the shared log."))
    func goodbyeWaitsForWhatWasSaidBefore() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        bus.disk = .isBusy
        client.send(Line.increment)
        bus.shutDown()
        #expect(try client.all().isEmpty)
        #expect(!client.isEnded)
        bus.disk = .works
        #expect(try client.all().map { $0["event"] ?? .null } == [.null, "goodbye"])
        #expect(client.isEnded)
    }

    /// Past the bound of what may wait for the disk nobody is read.
    @Test func whoWaitsForTheDiskIsReadAgainAfterwards() throws {
        let (bus, client) = try full()
        #expect(bus.engine.revision < 61)
        bus.disk = .works
        #expect(try client.all().compactMap { $0["revision"]?.int } == Array(2...61))
    }

    /// A loop asks before it reads, and asks again only when it is called: so also who was quiet is called.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus requests wait for the log, in `ProposalQueue`, and not commits for the disk."
        ))
    func whoeverMayNotBeReadIsCalledWhenItMay() throws {
        let (bus, client) = try full()
        let quiet = bus.connect()
        guard case .blocked = bus.engine.status(of: quiet.connection) else {
            Issue.record("The bus takes in more while too much waits for the disk.")
            return
        }
        bus.engine.takeReady { _ in }
        bus.engine.confirmBatch()
        _ = bus.engine.sealBatch()
        bus.engine.confirmBatch()
        var called: Set<Int> = []
        bus.engine.takeReady { called.insert($0) }
        #expect(called.isSuperset(of: [quiet.connection, client.connection]))
    }

    /// A bus whose disk is so slow that it takes in no more.
    private func full() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("value/a")
        let client = bus.connect()
        let text = String(repeating: "x", count: 900_000)
        bus.disk = .isBusy
        for index in 0..<60 {
            client.send(
                #"{"op":"dispatch","store":"value/a","action":"set","payload":{"value":"\#(text)\#(index)"}}"#
            )
        }
        return (bus, client)
    }
}
