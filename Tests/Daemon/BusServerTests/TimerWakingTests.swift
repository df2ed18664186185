import Foundation
import TestServer
import Testing

/// The daemon wakes up for its timers, and for nothing else.
@Suite(.timeLimit(.minutes(10))) struct TimerWakingTests {
    private static let increment = #"{"op":"dispatch","store":"counter/main","action":"increment""#

    private func subscriber(of bus: LiveBus) throws -> LineClient {
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"subscribe","store":"counter/main"}"#).contains(#""ok":true"#))
        #expect(try client.line()?.contains(#""reset":true"#) == true)
        return client
    }

    private var now: Double { Date().timeIntervalSince1970 }

    /// Nobody does anything meanwhile: the daemon wakes by itself.
    @Test func timersFireInTimeWhileNobodyAsks() throws {
        let bus = try LiveBus()
        let client = try subscriber(of: bus)
        // The first timers may fire before the last one is set.
        let other = try bus.client()
        let start = now
        for delay in [60, 20, 40] {
            #expect(try other.ask(Self.increment + #","in":"\#(delay)ms"}"#).contains(#""ok":true"#))
        }
        for count in 1...3 {
            #expect(try client.line()?.contains(#""count":\#(count)}"#) == true)
            #expect(now - start >= Double(20 * count - 1) / 1000)
        }
        #expect(bus.server.nextWaking() == nil)
    }

    /// Without timers nothing is armed; with some, what is due first; and a timer that is taken away wakes nobody.
    @Test func nothingIsArmedWithoutTimers() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        #expect(bus.server.nextWaking() == nil)
        _ = try client.ask(
            #"{"op":"dispatch","type":"counter","action":"increment","at":4000000000,"timer":"late"}"#)
        // Later than ten years: refused, and nothing is armed for it.
        #expect(bus.server.nextWaking() == nil)
        let due = Int(now) + 3600
        _ = try client.ask(Self.increment + #","at":\#(due + 60),"timer":"late"}"#)
        _ = try client.ask(Self.increment + #","at":\#(due),"timer":"early"}"#)
        #expect(bus.server.nextWaking() == due * 1000)
        for timer in ["early", "late"] {
            let reply = try client.ask(#"{"op":"cancel","store":"counter/main","timer":"\#(timer)"}"#)
            #expect(reply.contains(#""ok":true"#))
        }
        #expect(bus.server.nextWaking() == nil)
        let before = bus.server.systemCalls()
        #expect(bus.server.systemCalls() == before)
    }

    /// What became due while there was no daemon fires when the next one starts; each timer once.
    @Test(arguments: [true, false]) func nextDaemonFiresWhatIsDue(isKilled: Bool) throws {
        let bus = try DaemonBus(hasLog: true)
        let first = try bus.start()
        let client = try bus.client()
        for number in 1...20 {
            let reply = try client.ask(Self.increment + #","in":"\#(number * 5)ms"}"#)
            #expect(reply.contains(#""ok":true"#))
        }
        first.signal(isKilled ? SIGKILL : SIGTERM)
        _ = try first.wait()
        let second = try bus.start()
        let other = try bus.client()
        #expect(try other.ask(#"{"op":"subscribe","store":"counter/main"}"#).contains(#""ok":true"#))
        while true {
            guard let line = try other.line() else { break }
            if line.contains(#""count":20"#) { break }
        }
        #expect(try other.ask(#"{"op":"timers"}"#).contains(#""timers":[]"#))
        let history = try other.ask(#"{"op":"history","store":"counter/main"}"#)
        #expect(history.components(separatedBy: #""fired":"#).count == 21)
        #expect(history.components(separatedBy: #""scheduled":"#).count == 21)
        #expect(try bus.stop(second) == 0)
    }
}
