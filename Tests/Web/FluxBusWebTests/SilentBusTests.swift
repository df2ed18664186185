import BusJSON
import Dispatch
import FluxBus
import FluxBusWeb
import TestServer
import Testing

/// What is answered while the bus answers nothing.
@Suite("A bus that hangs")
struct SilentBusTests {
    private static let token = "a-program-of-this-house"
    private static let bearer = ["Authorization": "Bearer \(token)"]

    private static func run(
        _ bus: SilentBus, patience: Duration, _ body: @escaping @Sendable (WebFixture) throws -> Void
    ) async throws {
        try await WebFixture.run { setup, _ in
            setup.bus = (try? BusAddress(parsing: bus.address)) ?? setup.bus
            (setup.apiToken, setup.apiPatience, setup.patience) = (Array(token.utf8), patience, patience)
        } _: { (web) throws in
            defer { bus.end() }
            try body(web)
        }
    }

    @Test func whatIsNotKnownIsSaidInTime() async throws {
        try await Self.run(SilentBus(), patience: .seconds(1)) { (web) throws in
            let action = "/v1/dispatch/counter/main/increment"
            for (method, path, body, code) in [
                ("POST", action, "", "outcome_unknown"),
                // These commit nothing.
                ("POST", action + "?dryRun=true", "", "timed_out"),
                ("POST", "/v1/dispatch", #"{"actions":[],"dryRun":true}"#, "timed_out"),
                ("GET", "/v1/stores", "", "timed_out"), ("GET", "/v1/stores/counter/main", "", "timed_out"),
                ("GET", "/v1/changes", "", "timed_out"),
            ] {
                let answer = try web.ask(method, path, Self.bearer, body: body)
                #expect(answer.status == 504, "\(path)")
                #expect(try JSON(parsing: answer.text)["error"]?["code"]?.string == code)
            }
        }
    }

    /// A browser gives up at a status that is none of success.
    @Test func aFeedThatComesBackWaits() async throws {
        try await Self.run(SilentBus(), patience: .seconds(1)) { (web) throws in
            let fields = Self.bearer.merging(["Last-Event-ID": "e:1"]) { $1 }
            let client = try web.client()
            client.send(client.request("GET", "/v1/changes", fields))
            #expect(try client.answer(hasBody: false).status == 200)
        }
    }

    // MARK: - Tokens of the bus

    @Test(arguments: ["/metrics", "/v1/stores"])
    func manyGuessesAtATimeAreNoMoreThanInARow(_ path: String) async throws {
        let bus = try SilentBus(overTCP: true, answersHello: false)
        try await Self.run(bus, patience: .seconds(60)) { (web) throws in
            let clients = try (0..<15).map { _ in try web.client() }
            for (number, client) in clients.enumerated() {
                client.send(client.request("GET", path, ["Authorization": "Bearer wrong-\(number)"]))
            }
            for _ in 0..<10 { #expect(bus.isAsked.wait(timeout: .now() + .seconds(20)) == .success) }
            bus.end()
            let statuses = try clients.map { try $0.answer().status }
            #expect(statuses.count { $0 == 401 } == 10 && statuses.count { $0 == 429 } == 5)
        }
    }

    @Test func whoGuessesKeepsNobodyFromHealth() async throws {
        let bus = try SilentBus(overTCP: true, answersHello: false)
        try await Self.run(bus, patience: .seconds(60)) { (web) throws in
            let client = try web.client()
            client.send(client.request("GET", "/metrics", Self.bearer))
            bus.isAsked.wait()
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
        }
    }

    // MARK: - Where the bus is

    @Test func strangersAreNotToldWhereTheBusIs() async throws {
        let bus = try SilentBus(overTCP: true)
        bus.end()
        try await Self.run(bus, patience: .seconds(20)) { (web) throws in
            let (_, close) = try web.webSocket("").end()
            #expect(close.code == 1013)
            #expect(close.reason == "The bus does not answer.")
            for path in ["/metrics", "/v1/stores", "/healthz"] {
                let answer = try web.ask("GET", path, Self.bearer)
                #expect(answer.status == 503 && answer.text.contains("The bus does not answer."), "\(path)")
            }
        }
    }
}
