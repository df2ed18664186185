import BusJSON
import FluxBusCommand
import Foundation
import Synchronization
import Testing

/// What a watch does when its connection is lost: it says so, and goes on behind what it has shown.
@Suite("A watch after a lost connection", .timeLimit(.minutes(10)))
struct WatchResumptionTests {
    /// A bus whose connections answer one after the other, each line with what stands there for it.
    private func bus(_ answers: [[String]]) throws -> ScriptedBus {
        let next = Mutex(0)
        return try ScriptedBus { line in
            let index = next.withLock { number in
                defer { number += 1 }
                return min(number, answers.count - 1)
            }
            return [ScriptedBus.reply(to: line, ["sub": 1, "revision": 9, "epoch": "e1"])] + answers[index]
        }
    }

    private static let first =
        #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"c/a":{"n":1}}}"#
    private static let second = #"{"event":"change","sub":1,"from":5,"revision":6,"changes":{"c/a":{"n":2}}}"#

    @Test func itGoesOnWhereItWas() throws {
        let bus = try bus([[Self.first, ScriptedBus.hangUp], [Self.second]])
        let run = try CommandRun(["watch", "c", "--count", "2"], bus: bus.address)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.lines == [Self.first, Self.second])
        #expect(
            bus.received == [
                #"{"op":"subscribe","id":1,"type":"c"}"#,
                #"{"op":"subscribe","id":1,"type":"c","since":5,"epoch":"e1"}"#,
            ])
        #expect(
            run.messages == """
                Connection lost; trying again for 30s.
                Connected again, 4 commits later.

                """)
    }

    @Test func withoutALimitItTriesForEver() throws {
        let bus = try bus([[Self.first, ScriptedBus.hangUp], [Self.second]])
        let run = try CommandRun(
            ["watch", "c", "--count", "2", "--timeout", "never", "--human"], bus: bus.address)
        bus.stop()
        #expect(run.status == .success)
        #expect(
            run.messages == """
                Connection lost; trying again until the bus answers.
                Connected again, 4 commits later.

                """)
    }

    /// Revisions of another history mean something else: it is said that what follows is a beginning.
    @Test(arguments: [["--json"], ["--human"]]) func anotherHistoryIsTold(_ form: [String]) throws {
        let subscriptions = Mutex(0)
        let bus = try ScriptedBus { line in
            let number = subscriptions.withLock { number in
                number += 1
                return number
            }
            let reply = ScriptedBus.reply(
                to: line, ["sub": 1, "revision": 5, "epoch": .string("e\(number)")])
            return [reply, Self.first] + (number == 1 ? [ScriptedBus.hangUp] : [])
        }
        let run = try CommandRun(["watch", "c", "--count", "2"] + form, bus: bus.address)
        bus.stop()
        #expect(run.status == .success)
        #expect(
            run.messages == """
                Connection lost; trying again for 30s.
                Connected again; the bus has a new epoch, so this starts over with what there is now.

                """)
    }

    @Test func aDaemonThatEndsIsWaitedFor() throws {
        let goodbye = #"{"event":"goodbye","code":"shutdown","message":"It ends."}"#
        let bus = try bus([[Self.first, goodbye, ScriptedBus.hangUp], [Self.second]])
        // For people a goodbye is no event.
        let run = try CommandRun(["watch", "c", "--count", "2", "--human"], bus: bus.address)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.output.contains("n 1 → 2"))
    }

    /// Parts that were passed on without the last are forgotten with a first state.
    @Test func inTheMiddleOfAnEventItBeginsAnew() throws {
        let part =
            #"{"event":"change","sub":1,"from":5,"revision":6,"more":true,"states":{"c/a":{"n":7}}}"#
        let bus = try bus([[Self.first, part, ScriptedBus.hangUp], [Self.first]])
        let run = try CommandRun(["watch", "c", "--count", "2"], bus: bus.address)
        bus.stop()
        #expect(run.lines == [Self.first, part, Self.first])
        #expect(bus.received.last == #"{"op":"subscribe","id":1,"type":"c"}"#)
    }

    @Test func ofACommitsActionsEachIsShownOnce() throws {
        func action(_ revision: Int, _ index: Int) -> String {
            #"{"event":"action","sub":1,"revision":\#(revision),"index":\#(index),"type":"c","action":"x"}"#
        }
        let bus = try bus([
            [action(10, 0), action(11, 0), action(11, 1), ScriptedBus.hangUp],
            [action(11, 0), action(11, 1), action(11, 2), action(12, 0)],
        ])
        let run = try CommandRun(["watch", "c", "--actions", "--count", "5"], bus: bus.address)
        bus.stop()
        #expect(
            run.lines == [action(10, 0), action(11, 0), action(11, 1), action(11, 2), action(12, 0)])
        #expect(bus.received.last?.contains(#""since":10,"epoch":"e1""#) == true)
    }

    /// Actions have no first state: even before the first one it is known where to go on.
    @Test func actionsGoOnBehindTheReply() throws {
        let event = #"{"event":"action","sub":1,"revision":10,"type":"c","action":"x"}"#
        let bus = try bus([[ScriptedBus.hangUp], [event]])
        let run = try CommandRun(["watch", "c", "--actions", "--count", "1"], bus: bus.address)
        bus.stop()
        #expect(run.lines == [event])
        #expect(bus.received.last?.contains(#""since":9,"epoch":"e1""#) == true)
    }

    @Test func itGivesUpAfterTheTimeout() throws {
        let holder = Mutex<ScriptedBus?>(nil)
        let bus = try ScriptedBus { line in
            // Nobody takes the next connection.
            holder.withLock { $0?.endListening() }
            return [
                ScriptedBus.reply(to: line, ["sub": 1, "revision": 9, "epoch": "e"]), Self.first,
                ScriptedBus.hangUp,
            ]
        }
        holder.withLock { $0 = bus }
        defer { holder.withLock { $0 = nil } }
        let run = try CommandRun(["watch", "c", "--timeout", "200ms"], bus: bus.address)
        #expect(run.status == .unreachable)
        #expect(run.lines == [Self.first])
        #expect(run.messages.contains("start fluxbusd, or name another bus"))
    }

    /// What the first of several subscriptions delivers may be long, and the others are answered behind it. So it is shown meanwhile:
    /// here the bus waits for that before it answers the second one, at the beginning or on the next connection.
    @Test(arguments: [false, true]) func nothingWaitsForTheReplyToAnotherSubscription(isAgain: Bool) throws {
        let other = #"{"event":"change","sub":2,"from":0,"revision":7,"reset":true,"states":{"d/a":{}}}"#
        let shown = Pipe()
        let output = shown.fileHandleForReading
        let count = Mutex(0)
        let bus = try ScriptedBus { line in
            let number = count.withLock { number in
                number += 1
                return number
            }
            let sub = line.contains(#""type":"d""#) ? 2 : 1
            let reply = ScriptedBus.reply(to: line, ["sub": .int(sub), "revision": 9, "epoch": "e1"])
            switch (isAgain, number) {
            case (_, 1): return [reply, Self.first]
            case (true, 2): return [reply, ScriptedBus.hangUp]
            case (true, 3): return [reply, Self.second]
            default:
                let wanted = isAgain ? Self.second : Self.first
                var text = ""
                while !text.contains(wanted) {
                    let bytes = output.availableData
                    if bytes.isEmpty { return nil }
                    text += String(decoding: bytes, as: UTF8.self)
                }
                return [reply, other]
            }
        }
        let run = try CommandRun(
            ["watch", "c", "d", "--count", isAgain ? "3" : "2", "--timeout", "3s"], bus: bus.address,
            output: Channel(descriptor: shown.fileHandleForWriting.fileDescriptor))
        try shown.fileHandleForWriting.close()
        bus.stop()
        #expect(run.status == .success, "\(run.messages)")
        #expect(count.withLock { $0 } == (isAgain ? 4 : 2))
    }

    /// A subscription that the bus can't continue now is asked for again, for as long as a lost connection is.
    @Test func anotherSubscriptionThatIsRefusedForNowIsTriedAgain() throws {
        let count = Mutex(0)
        let bus = try ScriptedBus { line in
            let number = count.withLock { number in
                number += 1
                return number
            }
            let sub = line.contains(#""type":"d""#) ? 2 : 1
            let reply = ScriptedBus.reply(to: line, ["sub": .int(sub), "revision": 9, "epoch": "e1"])
            switch number {
            case 1: return [reply, Self.first]
            case 2: return [reply, ScriptedBus.hangUp]
            case 4, 6: return [ScriptedBus.refusal(of: line, "unavailable"), ScriptedBus.hangUp]
            case 7: return [reply, Self.second]
            default: return [reply]
            }
        }
        let run = try CommandRun(["watch", "c", "d", "--count", "2"], bus: bus.address)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.lines == [Self.first, Self.second])
        #expect(run.messages.split(separator: "\n").filter { $0.hasPrefix("Connection lost") }.count == 1)
    }
}
