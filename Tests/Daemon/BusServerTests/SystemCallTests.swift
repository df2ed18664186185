import BusServer
import Foundation
import TestServer
import Testing

/// What a bus asks of the kernel, counted and not timed: a change that makes every commit cost a call is seen here on any
/// machine, however busy.
@Suite("The system calls of a bus") struct SystemCallTests {
    private static let requests = 640
    private static let dispatch = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#

    /// A client that watches the store, and has read all that came of it.
    private func subscriber(of bus: LiveBus) throws -> LineClient {
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"subscribe","store":"counter/main"}"#).contains(#""ok":true"#))
        #expect(try client.line()?.contains(#""reset":true"#) == true)
        return client
    }

    /// Requests that came together are read, committed, answered and told together.
    @Test func burstIsReadAndAnsweredInFewCalls() throws {
        let bus = try LiveBus()
        let subscriber = try subscriber(of: bus)
        let client = try bus.client()
        _ = try client.ask(#"{"op":"ping"}"#)
        let before = bus.server.systemCalls()
        try client.send(bytes: String(repeating: Self.dispatch + "\n", count: Self.requests))
        for number in 1...Self.requests {
            #expect(try client.line()?.contains(#""ok":true"#) == true, "reply \(number)")
        }
        for number in 1...Self.requests {
            #expect(try subscriber.line()?.contains(#""count":\#(number)}"#) == true, "event \(number)")
        }
        let calls = bus.server.systemCalls() - before
        // A socket hands a burst over in a few parts, each of which may be a turn of its own: one call to read it,
        // one to answer, one for the subscriber. One call per commit would be 640 of each. How often the loop looks
        // for more meanwhile depends on how fast the machine is, so that is not counted here.
        #expect(calls.receive >= 1)
        #expect(calls.send >= 2)
        #expect(calls.receive <= 8, "\(calls)")
        #expect(calls.send <= 32, "\(calls)")
        #expect(calls.control == 0, "\(calls)")
    }

    /// A request that comes alone takes one call to read it, one to answer it and one to tell the subscriber.
    @Test func singleRequestIsReadAndAnsweredOnce() throws {
        let bus = try LiveBus()
        let subscriber = try subscriber(of: bus)
        let client = try bus.client()
        _ = try client.ask(Self.dispatch)
        _ = try subscriber.line()
        let before = bus.server.systemCalls()
        for _ in 0..<50 {
            _ = try client.ask(Self.dispatch)
            _ = try subscriber.line()
        }
        let calls = bus.server.systemCalls() - before
        #expect(calls.receive == 50, "\(calls)")
        #expect(calls.send == 100, "\(calls)")
        #expect(calls.control == 0, "\(calls)")
    }

    /// Clients that say nothing cost nothing: while another bus works, this one asks the kernel nothing at all.
    @Test func idleBusMakesNoCalls() throws {
        let idle = try LiveBus()
        let watchers = try (0..<20).map { _ in try subscriber(of: idle) }
        var entries = watchers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        // The loop waits for more itself for a moment after something came.
        #expect(poll(&entries, nfds_t(entries.count), 500) == 0)
        let before = idle.server.systemCalls()
        let busy = try LiveBus()
        let client = try busy.client()
        for _ in 0..<2000 { _ = try client.ask(Self.dispatch) }
        // And half a second in which nothing comes for anybody.
        #expect(poll(&entries, nfds_t(entries.count), 500) == 0)
        #expect(idle.server.systemCalls() == before)
        withExtendedLifetime(watchers) {}
        #expect(busy.server.systemCalls().receive >= 2000)
    }
}
