import BusJSON
import FluxBusCommand
import Testing

/// `watch --with-actions`: what two subscriptions tell, in one order.
@Suite("A watch of actions and changes", .timeLimit(.minutes(10)))
struct WatchOrderTests {
    private static func change(_ revision: Int, from: Int) -> String {
        #"{"event":"change","sub":2,"from":\#(from),"revision":\#(revision),"changes":{"c/a":{"n":\#(revision)}}}"#
    }

    private static func action(_ revision: Int) -> String {
        #"{"event":"action","sub":1,"revision":\#(revision),"type":"c","action":"x","payload":{}}"#
    }

    private static let first =
        #"{"event":"change","sub":2,"from":0,"revision":5,"reset":true,"states":{"c/a":{"n":1}}}"#

    /// Answers subscriptions; after the second one comes `news`, and each ping's reply comes after what follows it.
    private func bus(_ news: [String], beforePong: [String] = []) throws -> ScriptedBus {
        try ScriptedBus { line in
            switch ScriptedBus.op(of: line) {
            case "ping": return beforePong + [ScriptedBus.reply(to: line)]
            case "subscribe":
                let isFirst = line.contains(#""actions":true"#)
                let reply = ScriptedBus.reply(
                    to: line, ["sub": isFirst ? 1 : 2, "revision": 5, "epoch": "e1"])
                return [reply] + (isFirst ? [] : [Self.first] + news)
            default: return nil
            }
        }
    }

    @Test func actionsComeBeforeTheChangesThatTheyCause() throws {
        let events = [
            Self.change(6, from: 5), Self.action(6), Self.change(7, from: 6), Self.action(7), Self.action(8),
        ]
        let bus = try bus(events)
        let run = try CommandRun(["watch", "c", "--with-actions", "--count", "6"], bus: bus.address)
        bus.stop()
        #expect(
            run.lines == [
                Self.first, Self.action(6), Self.change(6, from: 5), Self.action(7), Self.change(7, from: 6),
                Self.action(8),
            ])
        #expect(
            bus.received.prefix(2) == [
                #"{"op":"subscribe","id":1,"type":"c","actions":true}"#,
                #"{"op":"subscribe","id":2,"type":"c"}"#,
            ])
    }

    /// An action that comes later than its change is still told before it: the ping's answer comes after both.
    @Test func changesWaitForTheirActions() throws {
        let bus = try bus([Self.change(6, from: 5)], beforePong: [Self.action(6)])
        let run = try CommandRun(["watch", "c", "--with-actions", "--count", "3"], bus: bus.address)
        bus.stop()
        #expect(run.lines == [Self.first, Self.action(6), Self.change(6, from: 5)])
    }

    @Test func whatCameBeforeTheEndIsShown() throws {
        let goodbye = #"{"event":"goodbye","code":"slow_consumer","message":"Too slow."}"#
        let bus = try bus([Self.change(6, from: 5), Self.action(6), goodbye, ScriptedBus.hangUp])
        let run = try CommandRun(["watch", "c", "--with-actions"], bus: bus.address)
        bus.stop()
        #expect(run.status == .temporary)
        #expect(run.lines == [Self.first, Self.action(6), Self.change(6, from: 5), goodbye])
    }

    @Test func onARealBusBothAreToldOnce() throws {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/a"}"#, uid: 5)
        bus.onLine = { bus, line in
            guard line.contains("ping"), bus.revision < 4 else { return }
            bus.afterReply = {
                try $0.ask(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#, uid: 5)
            }
        }
        let address = try bus.listen()
        let run = try CommandRun(
            ["watch", "counter", "--with-actions", "--count", "7", "--human"], bus: address)
        bus.stop()
        let told = run.lines.map { line in
            line.contains("increment") ? "action" : line.contains("→") ? "change" : "other"
        }
        #expect(told.filter { $0 == "action" }.count == 3)
        for (index, word) in told.enumerated() where word == "action" { #expect(told[index + 1] == "change") }
    }

    @Test func oneOfTheTwoFlags() {
        #expect(throws: (any Error).self) {
            try RootCommand.parseAsRoot(["watch", "--actions", "--with-actions"])
        }
    }
}
