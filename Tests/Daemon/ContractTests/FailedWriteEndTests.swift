import BusJSON
import TestModes
import TestSupport
import Testing

/// Connections that end while nothing can be committed: their wills and the drops of their stores come as soon as they can,
/// once, and by them.
@Suite(
    .aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
struct FailedWriteEndTests {
    private let will = #"{"op":"will","actions":[{"store":"counter/left","action":"increment"}]}"#
    private let mine = #"{"op":"create","store":"counter/mine","ephemeral":true}"#

    private func count(_ client: MemoryClient) throws -> Int? {
        try client.state(of: "counter/left")?["count"]?.int
    }

    /// The end comes before the write fails, while it has failed, or before the disk was slow at all.
    @Test(arguments: [0, 1, 2]) func endIsCarriedOutWhenTheDiskWorksAgain(_ moment: Int) throws {
        let bus = try MemoryBus.logging("counter/left")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        try client.ask(will)
        try client.ask(mine)
        bus.disk = .isBusy
        if moment == 0 { client.close() }
        observer.send(Line.increment.replacing("counter/a", with: "counter/left"))
        if moment == 1 { client.close() }
        bus.disk = .fails
        if moment == 2 { client.close() }
        #expect(try observer.codes() == ["unavailable"])
        #expect(try count(observer) == 0)
        #expect(try observer.state(of: "counter/mine") != nil)
        bus.disk = .works
        #expect(try count(observer) == 1)
        #expect(try observer.state(of: "counter/mine") == nil)
        let commits = try #require(try observer.reply(to: #"{"op":"history","since":2}"#)["commits"]?.array)
        #expect(commits.count == 1)
        #expect(commits.first?["by"]?["uid"] == 5)
        #expect(try bus.isWhatTheLogSays())
    }

    /// The same, but the bus is gone before the disk works: the log still knows.
    @Test func endIsCarriedOutByTheNextDaemon() throws {
        let bus = try MemoryBus.logging("counter/left")
        let (client, observer) = (bus.connect(), bus.connect())
        try client.ask(will)
        try client.ask(mine)
        bus.disk = .isBusy
        client.close()
        bus.disk = .fails
        _ = try observer.all()
        let next = try bus.crash()
        let late = next.connect()
        #expect(try count(late) == 1)
        #expect(try late.state(of: "counter/mine") == nil)
    }

    /// Nobody takes over a session whose end waits for the disk: who comes with its name has another one, and it ends once.
    @Test(arguments: [true, false]) func sessionWhoseEndWaitsIsNotTakenOver(endsBefore: Bool) throws {
        let bus = try MemoryBus.logging("counter/left")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        let hello = #"{"op":"hello","session":"gate"}"#
        for line in [hello, will, mine] { try client.ask(line) }
        bus.disk = .isBusy
        if endsBefore { client.close() }
        observer.send(Line.increment.replacing("counter/a", with: "counter/left"))
        bus.disk = .fails
        #expect(try observer.codes() == ["unavailable"])
        client.close()
        let next = bus.connect(uid: 5)
        #expect(try next.reply(to: hello)["resumed"] == false)
        bus.disk = .works
        #expect(try count(observer) == 1)
        #expect(try observer.state(of: "counter/mine") == nil)
        next.close()
        #expect(try count(observer) == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    /// A store was dropped and its owner left, and the drop was not written: the store goes with its owner all the same, and
    /// not with whoever has the owner's number now.
    @Test(arguments: [true, false]) func storeWhoseDropWasLostGoes(isNumberUsedAgain: Bool) throws {
        let bus = try MemoryBus.logging("counter/left")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        try client.ask(mine)
        bus.disk = .isBusy
        client.send(#"{"op":"drop","store":"counter/mine"}"#)
        client.close()
        let follower = isNumberUsedAgain ? bus.connect(uid: 6) : nil
        bus.disk = .fails
        #expect(try observer.state(of: "counter/mine") != nil)
        bus.disk = .works
        #expect(try observer.state(of: "counter/mine") == nil)
        let commits = try #require(try observer.reply(to: #"{"op":"history","since":2}"#)["commits"]?.array)
        #expect(commits.map { $0["by"]?["uid"] } == [5])
        #expect(try follower?.isUsable() != false)
    }

    /// A will was taken back, its owner was told so, and left: then it must not be carried out, by nobody.
    @Test(arguments: [true, false]) func willThatWasTakenBackStaysSo(endsBefore: Bool) throws {
        let bus = try MemoryBus.logging("counter/left")
        let client = bus.connect()
        try client.ask(will)
        bus.disk = .isBusy
        client.send(#"{"op":"will","actions":[]}"#)
        if endsBefore { client.close() }
        bus.disk = .fails
        bus.disk = .works
        let isTakenBack = try endsBefore || client.codes() == ["ok"]
        #expect(try count(bus.connect()) == 0)
        let next = try bus.crash()
        #expect(try count(next.connect()) == (isTakenBack ? 0 : 1))
    }

    /// The will of who has a number now is not ended by the end of who had it before.
    @Test func willOfWhoHasTheNumberNowOutlivesTheEndOfWhoHadIt() throws {
        let bus = try MemoryBus.logging("counter/left")
        let client = bus.connect(uid: 5)
        try client.ask(will)
        bus.disk = .isBusy
        client.close()
        let follower = bus.connect(uid: 6)
        #expect(follower.connection == client.connection)
        follower.send(will)
        bus.disk = .fails
        let isLeft = try follower.codes() == ["ok"]
        bus.disk = .works
        #expect(try count(bus.connect()) == 1)
        let next = try bus.crash()
        let observer = next.connect()
        #expect(try count(observer) == (isLeft ? 2 : 1))
        let commits = try #require(try observer.reply(to: #"{"op":"history","since":1}"#)["commits"]?.array)
        #expect(commits.map { $0["by"]?["uid"] } == (isLeft ? [5, 6] : [5]))
    }

    /// Two connections of one process with one number, one after the other, end alike: the log holds two commits.
    @Test func endsThatAreAlikeAreTwoCommits() throws {
        let bus = try MemoryBus.logging("counter/left")
        let (one, observer) = (bus.connect(.unix(uid: 5, pid: 77)), bus.connect())
        bus.disk = .isBusy
        one.send(will)
        one.close()
        let two = bus.connect(.unix(uid: 5, pid: 77))
        two.send(will)
        two.close()
        bus.disk = .fails
        bus.disk = .works
        let found = try count(observer)
        #expect(try count(bus.crash().connect()) == found)
    }

    @Test func ephemeralStoreThatWasNotWrittenIsNobodys() throws {
        let bus = try MemoryBus.logging("counter/left")
        let (client, observer) = (bus.connect(), bus.connect())
        bus.disk = .isBusy
        client.send(mine)
        bus.disk = .fails
        #expect(try client.codes() == ["unavailable"])
        bus.disk = .works
        let revision = bus.engine.revision
        client.close()
        #expect(try observer.revision(after: Line.sync) == revision)
        #expect(try bus.isWhatTheLogSays())
    }
}
