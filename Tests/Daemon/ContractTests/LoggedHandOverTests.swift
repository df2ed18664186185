import BusJSON
import TestModes
import TestSupport
import Testing

/// A restart that keeps its clients, on a bus with a log: what they sent and were still owed is carried out by the daemon
/// that follows, and stands in its log.
@Suite(.aloneOnly(because: "A member of a shared bus hands nothing over.")) struct LoggedHandOverTests {
    @Test func nobodyNotices() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, observer) = (bus.connect(), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(observer.ask(#"{"op":"subscribe","type":"counter"}"#))
        for restart in 0..<3 {
            try client.increment()
            try bus.restart()
            #expect(try client.reply(to: Line.increment(id: restart, #","key":"k""#))["ok"] == true)
        }
        try mirror.take(observer.all())
        #expect(mirror.states["counter/a"]?["count"] == 4)
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    /// Requests that waited behind a full outbox are carried out by the next daemon, and logged there.
    @Test func requestsThatWaitedAreInTheLog() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 2048 }
        let client = bus.connect()
        client.isReading = false
        for index in 0..<200 { client.send(Line.increment(id: index)) }
        #expect(bus.engine.revision < 100)
        try bus.restart()
        client.isReading = true
        #expect(try client.all().compactMap { $0["id"]?.int } == Array(0..<200))
        #expect(bus.engine.revision == 201)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Questions in a row: each is answered once, and so is what comes behind them.
    @Test func everyQuestionIsAnsweredOnce() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        bus.disk = .isBusy
        client.send(Line.increment(id: 0))
        let lines = (1...3).map { #"{"op":"history","id":\#($0)}"# } + [Line.increment(id: 4)]
        client.send(lines.joined(separator: "\n"))
        var round = 0
        repeat { round += 1 } while bus.engine.refuseQueries() && round < 10
        #expect(round == 2)
        bus.disk = .works
        try bus.restart()
        #expect(try client.all().compactMap { $0["id"]?.int } == Array(0...4))
        #expect(try bus.isWhatTheLogSays())
    }

    /// Who was being told past actions is told the rest by the next daemon, which has only the log.
    @Test func pastActionsGoOn() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 2048 }
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 2...300 { try other.increment() }
        client.isReading = false
        client.send(#"{"op":"subscribe","type":"counter","actions":true,"since":1,"epoch":"\#(bus.epoch)"}"#)
        try bus.restart()
        client.isReading = true
        try other.increment()
        let told = try client.all().filter { $0["event"] == "action" }.compactMap { $0["revision"]?.int }
        #expect(told == Array(2...301))
        #expect(try client.isUsable())
    }

    /// The same where the log was just being asked.
    @Test func questionForPastActionsIsAskedAgain() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, other) = (bus.connect(), bus.connect())
        for _ in 2...60 { try other.increment() }
        bus.answersPast = false
        client.send(#"{"op":"subscribe","type":"counter","actions":true,"since":1,"epoch":"\#(bus.epoch)"}"#)
        try bus.restart()
        bus.answersPast = true
        let told = try client.all().filter { $0["event"] == "action" }.compactMap { $0["revision"]?.int }
        #expect(told == Array(2...60))
        #expect(try client.isUsable())
    }

    /// Wills and stores of who was handed over are theirs, whichever daemon ends.
    @Test func endsComeOnceAcrossARestartAndACrash() throws {
        let bus = try MemoryBus.logging("counter/left")
        let client = bus.connect(uid: 5)
        try client.ask(#"{"op":"will","actions":[{"store":"counter/left","action":"increment"}]}"#)
        try client.ask(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try bus.restart()
        let observer = try bus.crash().connect()
        #expect(try observer.state(of: "counter/left")?["count"] == 1)
        #expect(try observer.reply(to: #"{"op":"stores"}"#)["stores"]?.array?.count == 1)
        client.close()
        #expect(try bus.connect().state(of: "counter/left")?["count"] == 1)
        #expect(try bus.crash().connect().state(of: "counter/left")?["count"] == 1)
    }
}
