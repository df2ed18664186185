import FluxBus
import FluxBusWeb
import TestServer
import Testing

@Suite("Metrics, health, and tokens of the bus")
struct MetricsTests {
    private static let scraper = "scraper-0123456789"
    private static let token = "inspector-0123456789"

    @Test func scrapersShowTheirToken() async throws {
        try await WebFixture.run { setup, _ in
            setup.metricsToken = Array(Self.scraper.utf8)
        } _: { (web) throws in
            #expect(try web.ask("GET", "/metrics").status == 401)
            for wrong in [
                "Bearer", "Bearer x", "Basic \(Self.scraper)", "Bearer \(Self.scraper)x", Self.scraper,
            ] {
                let answer = try web.ask("GET", "/metrics", ["Authorization": wrong])
                #expect(answer.status == 401 && answer.fields["www-authenticate"] == "Bearer")
            }
            let fields = ["Authorization": "Bearer \(Self.scraper)"]
            let answer = try web.ask("GET", "/metrics", fields)
            #expect(answer.status == 200 && answer.text.contains("\n# TYPE fluxbus_"))
            #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let open = try web.ask(
                "GET", "/metrics",
                fields.merging(["Accept": "application/openmetrics-text;version=1.0.0"]) { $1 })
            #expect(open.text.hasSuffix("\n# EOF\n"))
            #expect(open.fields["content-type"]?.hasPrefix("application/openmetrics-text") == true)
            // It opens nothing else.
            #expect(try web.client().upgrade(fields).status == 401)
            // The same connection is used until the bus ends it.
            web.bus.stop()
            #expect(try web.ask("GET", "/metrics", fields).status == 503)
            try web.bus.start()
            #expect(try web.ask("GET", "/metrics", fields).status == 200)
        }
    }

    @Test func aTokenOfTheBusSignsIn() async throws {
        var bus = LiveBus.Setup()
        bus.listen = ["tcp:127.0.0.1:0"]
        bus.tokens = "inspector \(Self.token)\nscraper \(Self.scraper)\n"
        try await WebFixture.run(bus) { setup, bus in
            setup.bus = (try? BusAddress(parsing: bus.addresses[1])) ?? setup.bus
            // The bus lets those wait who guess.
            setup.patience = .seconds(20)
        } _: { (web) throws in
            #expect(!web.server.link.contains("token"))
            let state = try web.ask("GET", "/session").text
            #expect(state == #"{"signIn":"token","signedIn":false}"# + "\n")
            let own = ["Origin": "http://\(web.host)"]
            #expect(try web.ask("POST", "/session", own, body: "x").status == 404)
            let socket = try web.webSocket("")
            let hello = #"{"op":"hello","protocol":1,"client":"inspector","token":"\#(Self.token)"}"#
            #expect(try socket.ask(hello).contains(#""token":"inspector""#))
            #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            #expect(try web.ask("GET", "/metrics").status == 401)
            for (token, status) in [(Self.scraper, 200), (Self.token, 200), (Self.scraper, 200)] {
                #expect(try web.ask("GET", "/metrics", ["Authorization": "Bearer \(token)"]).status == status)
            }
            // Without a token of its own it can only try whether a connection comes about.
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
            let wrong = try web.webSocket("")
            wrong.send(#"{"op":"ping"}"#)
            #expect(try wrong.end().close.code == 1001)
            // Many wrong tokens would make the bus slow for all who come from here. That one was the first.
            let guess = ["Authorization": "Bearer wrong-0123456789"]
            for _ in 0..<9 { #expect(try web.ask("GET", "/metrics", guess).status == 401) }
            #expect(try web.ask("GET", "/metrics", guess).status == 429)
            let limited = try web.webSocket("")
            limited.send(#"{"op":"hello","protocol":1,"token":"wrong-0123456789"}"#)
            #expect(try limited.end().close.code == 1008)
            // Those that the bus has taken are no guesses.
            #expect(
                try web.ask("GET", "/metrics", ["Authorization": "Bearer \(Self.scraper)"]).status == 200)
            #expect(try web.webSocket("").ask(hello).contains(#""token":"inspector""#))
            web.clock.advance(by: .seconds(60))
            #expect(try web.ask("GET", "/metrics", guess).status == 401)
        }
    }

    @Test func healthIsAskedWithATokenOfItsOwn() async throws {
        var bus = LiveBus.Setup()
        bus.listen = ["tcp:127.0.0.1:0"]
        bus.tokens = "web \(Self.token)\n"
        try await WebFixture.run(bus) { setup, bus in
            setup.bus = (try? BusAddress(parsing: bus.addresses[1])) ?? setup.bus
            setup.busToken = Self.token
        } _: { (web) throws in
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
            // It is for that alone.
            #expect(try web.ask("GET", "/metrics").status == 401)
            web.bus.stop()
            #expect(try web.ask("GET", "/healthz").status == 503)
        }
    }
}
