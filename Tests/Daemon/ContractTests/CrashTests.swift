import BusEngine
import BusHistory
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Guarantees 6 and 9: the bus is gone without a word, and another one begins with what stands in the log.
@Suite(.inBothModes)
struct CrashTests {
    private let will = #"{"op":"will","actions":[{"store":"counter/left","action":"increment"}]}"#

    /// Everything that can be committed, committed.
    private func eventful(_ log: MemoryLog) throws -> MemoryBus {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "todo/t", "door/d", "value/v") {
            $0.log = log
        }
        let client = bus.connect(uid: 0)
        let deep = String(repeating: #"{"x":"#, count: 50) + "1.0" + String(repeating: "}", count: 50)
        for line in [
            Line.increment, Line.increment, #"{"op":"dispatch","type":"*","action":"reset"}"#,
            #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":7},"key":"k\u0000\"é"}"#,
            #"{"op":"create","store":"counter/c","state":{"count":-3},"key":"c"}"#,
            #"{"op":"create","store":"counter/e","ephemeral":true}"#,
            #"{"op":"drop","store":"counter/c","key":"d"}"#,
            #"{"op":"dispatch","store":"todo/t","action":"add","payload":{"id":"1","title":"été"}}"#,
            #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":\#(deep)}}"#,
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},{"type":"door","action":"rang"}]}"#,
            #"{"op":"revert","store":"counter/a","revision":6}"#, #"{"op":"reload"}"#, #"{"op":"reload"}"#,
            #"{"op":"dispatch","store":"door/d","action":"open"}"#, #"{"op":"create","store":"counter/c"}"#,
            will,
        ] {
            // Mutations may look at the time.
            bus.advance(milliseconds: 1234)
            let reply = try client.reply(to: line)
            #expect(reply["ok"] == true || line.contains("reset"), "\(line) \(reply)")
        }
        return bus
    }

    @Test func whatWasAcknowledgedIsThereAfterwards() throws {
        let log = MemoryLog()
        let bus = try eventful(log)
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        #expect(try bus.past(at: revision).stateDigest == digest)
        let next = try bus.crash()
        // The ephemeral store's client did not come back.
        #expect(next.engine.revision == revision + 1)
        let client = next.connect()
        #expect(try client.reply(to: #"{"op":"hello"}"#)["epoch"] == .string(bus.epoch))
        #expect(try client.code(of: #"{"op":"get","store":"counter/e"}"#) == "unknown_store")
        #expect(try client.state(of: "todo/t")?["items"]?["1"]?["title"] == "été")
    }

    /// Byte for byte, at every revision, from every snapshot, however commits were grouped.
    @Test(arguments: [true, false]) func everyRevisionIsMadeAgainFromAnySnapshot(inOneGroup: Bool) throws {
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a", "counter/b") { $0.log = log }
        let client = bus.connect(uid: 0)
        var digests = [bus.engine.revision: bus.engine.stateDigest]
        if inOneGroup { bus.disk = .isBusy }
        for index in 0..<40 {
            switch index % 8 {
            case 0: client.send(#"{"op":"create","store":"counter/n\#(index)","ephemeral":true}"#)
            case 3: client.send(will)
            case 4: client.send(#"{"op":"drop","store":"counter/n\#(index - 4)"}"#)
            case 5: client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
            case 6: bus.advance(milliseconds: 7)
            default: client.send(Line.increment(id: index, #","key":"k\#(index)""#))
            }
            digests[bus.engine.revision] = bus.engine.stateDigest
        }
        bus.disk = .works
        let last = bus.engine.revision
        #expect(digests.count == last - 1)
        for revision in 2...last { log.takeSnapshot(try bus.past(at: revision)) }
        let snapshots = log.snapshotBytes
        for start in snapshots.keys {
            log.snapshotBytes = snapshots.filter { $0.key == start }
            let engine = try bus.past(at: start)
            for revision in start...last {
                let bytes = log.groups.filter { $0.last >= revision || $0.first > $0.last }
                for group in bytes {
                    try group.entries.withUnsafeBytes { try engine.replay($0, through: revision) }
                }
                #expect(engine.revision == revision)
                #expect(
                    engine.stateDigest == digests[revision] ?? engine.stateDigest, "\(start) to \(revision)")
            }
        }
    }

    @Test func verificationSeesASnapshotThatSaysOtherwise() throws {
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a") { $0.log = log }
        let client = bus.connect()
        for _ in 0..<5 { try client.increment() }
        let other = try MemoryBus.logging("counter/a")
        for by in [1, 2] { try other.connect().increment(by: by) }
        log.takeSnapshot(try bus.past(at: 4))
        func isRight() throws -> Bool {
            try Verification.verify(log, try bus.replay(), found: { _ in })
        }
        #expect(try isRight())
        log.takeSnapshot(try other.past(at: 3))
        #expect(try !isRight())
    }

    /// A daemon that stops doesn't wait until a snapshot has been made that nobody needs any more.
    @Test func replayingIsGivenUpBetweenTwoGroups() throws {
        let log = MemoryLog()
        let bus = try MemoryBus.logging("counter/a") { $0.log = log }
        let client = bus.connect()
        for _ in 0..<5 { try client.increment() }
        #expect(log.groups.count >= 5)
        var groups = 0
        let replayer = bus.replay {
            groups += 1
            return groups <= 3
        }
        let failure = #expect(throws: PastFailure.self) { _ = try replayer.machine(from: log) }
        #expect(failure?.kind == .abandoned)
        #expect(groups == 4)
    }

    @Test func keysSurvive() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect(uid: 5)
        let requests = [
            Line.increment(id: 1, #","key":"dispatch""#),
            #"{"op":"create","store":"counter/n","key":"create"}"#,
            #"{"op":"drop","store":"counter/n","key":"drop"}"#,
        ]
        let first = try requests.map { try client.reply(to: $0) }
        for next in [try bus.crash(), try bus.crash().crash()] {
            let (same, other) = (next.connect(uid: 5), next.connect(uid: 6))
            for (request, reply) in zip(requests, first) {
                var expected = try #require(reply.object)
                expected["duplicate"] = true
                #expect(try same.reply(to: request) == .object(expected))
            }
            #expect(try same.state(of: "counter/a")?["count"] == 1)
            // They are their owner's, and another request with one is a conflict.
            #expect(try other.reply(to: requests[0])["duplicate"] == nil)
            #expect(try same.code(of: requests[0].replacing("increment", with: "decrement")) == "conflict")
        }
    }

    /// A retry says what its client had seen; that is known across a crash, but not in another epoch.
    @Test(arguments: [true, false]) func retryAfterACrashIsCommittedOnce(wasWritten: Bool) throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        let seen = try client.increment()
        bus.disk = .isBusy
        let request = Line.increment(id: 1, #","key":"k","after":\#(seen),"epoch":"\#(bus.epoch)""#)
        client.send(request)
        let next = try bus.crash(finishingWrite: wasWritten)
        let again = next.connect()
        // What is in the shared log is committed, whatever stands in a member's copy.
        let wasCommitted = wasWritten || BusMode.current == .shared
        #expect(try again.reply(to: request)["duplicate"] == (wasCommitted ? true : nil))
        #expect(try again.state(of: "counter/a")?["count"] == 2)
    }

    /// By their owner, as one commit each, before anything else.
    @Test(.aloneOnly(because: "A member goes by the definitions of the bus, whatever its files say."))
    func willsAndEphemeralStoresOfTheLostAreCarriedOutFirst() throws {
        let bus = try MemoryBus.logging("counter/left", "counter/b")
        let (one, two, three) = (bus.connect(uid: 5), bus.connect(uid: 6), bus.connect(uid: 7))
        try one.ask(will)
        try one.ask(#"{"op":"create","store":"counter/one","ephemeral":true}"#)
        try two.ask(#"{"op":"create","store":"counter/two","ephemeral":true}"#)
        try three.ask(will)
        try three.ask(#"{"op":"will","actions":[]}"#)
        let last = bus.engine.revision
        let next = try bus.crash { $0.definitions = ["type: extra\ninitial: {}"] }
        let client = next.connect()
        let since = #"{"op":"history","since":\#(last)}"#
        let commits = try #require(try client.reply(to: since)["commits"]?.array)
        #expect(commits.map { $0["by"]?["uid"] } == [5, 6, nil])
        #expect(commits[0]["actions"]?.array?.count == 1)
        #expect(commits[0]["dropped"] == ["counter/one"])
        #expect(commits[1]["dropped"] == ["counter/two"])
        #expect(commits[2]["definitions"] != nil)
        #expect(try client.state(of: "counter/left")?["count"] == 1)
        // Once, not at every start.
        #expect(try next.crash().connect().state(of: "counter/left")?["count"] == 1)
    }

    /// A number that was somebody else's before does not make the end theirs.
    @Test func endIsByWhoHadTheNumberLast() throws {
        let bus = try MemoryBus.logging("counter/left")
        let one = bus.connect(uid: 5)
        try one.ask(#"{"op":"create","store":"counter/one","ephemeral":true}"#)
        try one.ask(#"{"op":"drop","store":"counter/one"}"#)
        one.close()
        let two = bus.connect(uid: 6)
        #expect(two.connection == one.connection)
        try two.ask(will)
        try two.ask(#"{"op":"create","store":"counter/two","ephemeral":true}"#)
        let client = try bus.crash().connect()
        let commits = try #require(try client.reply(to: #"{"op":"history","since":4}"#)["commits"]?.array)
        #expect(commits.map { $0["by"]?["uid"] } == [6])
    }

    /// Wherever a snapshot was taken, also between a will and its end in one group: it is carried out once.
    @Test(
        .aloneOnly(because: "It takes the log of one machine apart; a member's copy has a replica beside it.")
    )
    func willIsCarriedOutOnceFromAnySnapshot() throws {
        let bus = try MemoryBus.logging("counter/left", "counter/a")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        bus.disk = .isBusy
        observer.send(Line.increment)
        observer.send(Line.increment)
        client.send(will)
        client.send(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        observer.send(Line.increment)
        client.close()
        observer.send(Line.increment)
        bus.disk = .works
        for revision in 2...bus.engine.revision {
            let log = try #require(bus.written).copy()
            log.takeSnapshot(try bus.past(at: revision))
            log.snapshotBytes = log.snapshotBytes.filter { $0.key == revision }
            let next = try bus.crash { $0.log = log }
            let late = next.connect()
            #expect(next.engine.revision == bus.engine.revision, "from \(revision)")
            #expect(try late.state(of: "counter/left")?["count"] == 1)
            #expect(try late.code(of: #"{"op":"get","store":"counter/mine"}"#) == "unknown_store")
            // And of who was there at that moment, if the log ended there.
            log.groups = []
            let there = try bus.crash { $0.log = log }.connect()
            #expect(try there.state(of: "counter/left")?["count"] == (revision < 4 ? 0 : 1))
        }
    }

    /// A will that was rejected is over; so is one that was carried out.
    @Test func willThatWasRejectedIsNotTriedAgain() throws {
        let bus = try MemoryBus.logging("door/d")
        let (client, other) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"will","actions":[{"store":"door/d","action":"open"}]}"#)
        try other.ask(#"{"op":"dispatch","store":"door/d","action":"lock"}"#)
        client.close()
        try other.ask(#"{"op":"dispatch","store":"door/d","action":"unlock"}"#)
        #expect(try bus.crash().connect().state(of: "door/d")?["isOpen"] == false)
    }

    @Test func mirrorsResumeAcrossACrash() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "counter/c")
        let client = bus.connect(uid: 0)
        var mirror = ContractMirror()
        client.send(#"{"op":"subscribe","match":"*/*"}"#)
        client.send(Line.increment)
        try mirror.take(client.all())
        let writer = bus.connect(uid: 0)
        try writer.ask(#"{"op":"drop","store":"counter/b"}"#)
        try writer.ask(#"{"op":"create","store":"counter/d"}"#)
        let next = try bus.crash()
        let again = next.connect()
        let from = try #require(mirror.revision)
        let lines = try again.ask(
            #"{"op":"subscribe","match":"*/*","since":\#(from),"epoch":"\#(bus.epoch)"}"#)
        #expect(lines.last?["reset"] == nil && lines.last?["from"] == .int(from))
        #expect(Set(lines.last?["states"]?.object?.keys.map { $0 } ?? []) == ["counter/d"])
        #expect(lines.last?["dropped"] == ["counter/b"])
    }

    /// A type went, with stores that a mirror of everything still holds: it must hear of them, or start over.
    @Test(.aloneOnly(because: "It replaces the log of one machine; a member's copy has a replica beside it."))
    func mirrorLosesStoresOfATypeThatWent() throws {
        let extra = "type: extra\ninitial: {}"
        let bus = try MemoryBus.logging("counter/a", "extra/x") { $0.definitions = [extra] }
        let client = bus.connect(uid: 0)
        var mirror = ContractMirror()
        try mirror.take(client.ask(#"{"op":"subscribe","match":"*/*"}"#))
        let since = try #require(mirror.revision)
        try client.ask(#"{"op":"drop","store":"extra/x"}"#)
        bus.definitions = []
        try client.revision(after: #"{"op":"reload"}"#)
        let log = MemoryLog()
        log.takeSnapshot(try bus.past(at: bus.engine.revision))
        let next = try bus.crash { $0.log = log }
        try mirror.take(
            next.connect().ask(#"{"op":"subscribe","match":"*/*","since":\#(since),"epoch":"\#(bus.epoch)"}"#)
        )
        #expect(Set(mirror.states.keys) == ["counter/a"])
    }

    /// Definitions of a start come after the log's; where stores do not fit them, nothing starts.
    @Test(.aloneOnly(because: "A member goes by the definitions of the bus, whatever its files say."))
    func changedDefinitionsComeAfterTheLog() throws {
        let one = "type: lamp\ninitial: { on: false }\nactions: { flip: { toggle: [on] } }"
        let two =
            "type: lamp\ninitial: { on: false, flips: 0 }\nactions: { flip: { toggle: [on], increment: { flips: 1 } } }"
        let three = "type: lamp\ninitial: { level: 0 }"
        let bus = try MemoryBus.logging("lamp/l") { $0.definitions = [one] }
        let flip = #"{"op":"dispatch","store":"lamp/l","action":"flip"}"#
        try bus.connect().revision(after: flip)
        let next = try bus.crash { $0.definitions = [two] }
        let client = next.connect()
        #expect(try client.state(of: "lamp/l") == ["on": true, "flips": 0])
        try client.revision(after: flip)
        let digest = next.engine.stateDigest
        #expect(throws: Redefinition.Refusal.self) { try next.crash { $0.definitions = [three] } }
        let last = try next.crash { $0.definitions = [two] }
        #expect(try last.connect().state(of: "lamp/l") == ["on": false, "flips": 1])
        #expect(last.engine.stateDigest == digest)
        #expect(try last.isWhatTheLogSays())
    }

    @Test func startThatFindsNothingNewCommitsNothing() throws {
        let bus = try MemoryBus.logging("counter/a")
        #expect(try bus.crash().engine.revision == bus.engine.revision)
    }
}
