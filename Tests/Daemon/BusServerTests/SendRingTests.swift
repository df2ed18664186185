import BusJSON
import BusServer
import TestServer
import Testing

/// Many connections are written to by one call of io_uring, or by a call for each: what they get is the same.
struct SendRingTests {
    private static let dispatch = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#

    private func bus(usesRing: Bool, limits: [String] = []) throws -> (bus: LiveBus, hasRing: Bool) {
        var setup = LiveBus.Setup()
        setup.usesRing = usesRing
        setup.limits = limits
        setup.types = [
            "text":
                "type: text\ninitial: { text: '' }\nactions: { set: { payload: { text: string }, set: { text: = payload.text } } }\n"
        ]
        setup.stores.append("text/main")
        let bus = try LiveBus(setup)
        let stats = try JSON(parsing: bus.client().ask(#"{"op":"stats"}"#))["stats"]
        let io = try #require(stats?["io"]?.string)
        #expect(usesRing || io == "epoll")
        return (bus, io == "io_uring")
    }

    private func subscriber(of bus: LiveBus, _ store: String) throws -> LineClient {
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"subscribe","store":"\#(store)"}"#).contains(#""ok":true"#))
        #expect(try client.line()?.contains(#""reset":true"#) == true)
        return client
    }

    @Test(arguments: [true, false]) func manyAreToldInFewCalls(usesRing: Bool) throws {
        let (bus, hasRing) = try bus(usesRing: usesRing)
        let subscribers = try (0..<200).map { _ in try subscriber(of: bus, "counter/main") }
        let client = try bus.client()
        _ = try client.ask(#"{"op":"ping"}"#)
        let before = bus.server.systemCalls()
        for number in 1...20 {
            #expect(try client.ask(Self.dispatch).contains(#""ok":true"#))
            for subscriber in subscribers {
                #expect(try subscriber.line()?.contains(#""count":\#(number)}"#) == true)
            }
        }
        let calls = bus.server.systemCalls() - before
        if hasRing {
            #expect(calls.send <= 20 * 12, "\(calls)")
        } else {
            #expect(calls.send == 20 * 201, "\(calls)")
        }
        #expect(calls.control == 0, "\(calls)")
    }

    /// Beside each other: clients that read all, that read nothing for long, and that have gone. Large states fill the sockets, so
    /// that some sends take a part or nothing.
    @Test(arguments: [true, false]) func whoeverReadsGetsTheNewestInOrder(usesRing: Bool) throws {
        let (bus, _) = try bus(usesRing: usesRing)
        let readers = try (0..<10).map { _ in try subscriber(of: bus, "text/main") }
        let late = try (0..<10).map { _ in try subscriber(of: bus, "text/main") }
        var gone = try (0..<10).map { _ in try subscriber(of: bus, "text/main") }
        let client = try bus.client()
        for number in 1...60 {
            let text = "\(number):" + String(repeating: "x", count: number % 3 == 0 ? 9 : 60_000)
            let request =
                #"{"op":"dispatch","store":"text/main","action":"set","payload":{"text":"\#(text)"}}"#
            #expect(try client.ask(request).contains(#""ok":true"#))
            for reader in readers {
                #expect(try reader.line()?.contains(#"{"text":"\#(text)"}"#) == true, "change \(number)")
            }
            if number > 20, let one = gone.popLast() { one.close() }
        }
        for reader in late {
            var revision = 0
            var isLast = false
            while !isLast {
                let line = try #require(try reader.line())
                let next = try #require(try JSON(parsing: line)["revision"]?.int)
                #expect(next > revision)
                revision = next
                isLast = line.contains(#"{"text":"60:xxxxxxxxx"}"#)
            }
        }
    }
}
