import BusJSON
import Dispatch
import FluxBus
import FluxBusWeb
import Foundation
import Synchronization
import TestFiles
import TestServer
import Testing

/// The bus over plain HTTP.
@Suite("Plain HTTP")
struct APITests {
    private static let token = "a-program-of-this-house"
    private static let bearer = ["Authorization": "Bearer \(token)"]

    private static func run(_ body: @escaping @Sendable (WebFixture) throws -> Void) async throws {
        var setup = LiveBus.Setup()
        (setup.stores, setup.hasLog) = (["counter/main", "counter/other"], true)
        setup.types = ["counter": try Repository.text("config/types/counter.yaml")]
        try await WebFixture.run(setup) { setup, _ in
            setup.apiToken = Array(token.utf8)
        } _: { (web) throws in
            try body(web)
        }
    }

    @Test func onlyThoseWhoShowWhoTheyAreAreServed() async throws {
        try await Self.run { (web) throws in
            for wrong in [[:], ["Authorization": "Bearer x"], ["Authorization": "Basic \(Self.token)"]] {
                for path in ["/v1/stores", "/v1/nothing", "/openapi.json", "/v1/changes"] {
                    let answer = try web.ask("GET", path, wrong)
                    #expect(answer.status == 401 && answer.fields["www-authenticate"] == "Bearer", "\(path)")
                    #expect(try JSON(parsing: answer.text)["error"]?["code"] == "unauthorized")
                }
            }
            #expect(try web.ask("GET", "/v1/stores", Self.bearer).status == 200)
            // Who asks through this server is known by where from.
            let reset = try web.ask("POST", "/v1/dispatch/counter/main/reset", Self.bearer)
            #expect(reset.status == 200)
            let history = try web.ask("GET", "/v1/history?order=newest&limit=1", Self.bearer)
            let author = try JSON(parsing: history.text)["commits"]?[0]?["by"]
            #expect(
                author?["via"]?.string?.hasPrefix("127.0.0.1") == true && author?["client"] == "fluxbus-web")
            // The page's cookie is for the page.
            let cookie = ["Cookie": try web.signIn()]
            #expect(try web.ask("GET", "/v1/stores", cookie).status == 200)
            let path = "/v1/dispatch/counter/main/increment"
            #expect(try web.ask("POST", path, cookie).status == 403)
            let foreign = cookie.merging(["Origin": "https://example.org"]) { $1 }
            #expect(try web.ask("POST", path, foreign).status == 403)
            let own = cookie.merging(["Origin": "http://\(web.host)"]) { $1 }
            #expect(try web.ask("POST", path, own).status == 200)
        }
    }

    @Test func codesHaveTheirStatus() async throws {
        try await Self.run { (web) throws in
            func status(_ method: String, _ path: String, _ body: String = "", _ more: [String: String] = [:])
                throws -> Int
            {
                try web.ask(method, path, Self.bearer.merging(more) { $1 }, body: body).status
            }
            #expect(try status("GET", "/v1/stores/counter/none") == 404)
            #expect(try status("POST", "/v1/dispatch/counter/main/none") == 404)
            #expect(try status("POST", "/v1/dispatch/counter/main/increment", #"{"by":"x"}"#) == 400)
            #expect(try status("POST", "/v1/dispatch/counter/main/increment", "{") == 400)
            #expect(try status("PUT", "/v1/stores/counter/main") == 409)
            #expect(try status("PUT", "/v1/stores/counter/main", "", ["If-None-Match": "*"]) == 412)
            #expect(try status("DELETE", "/v1/stores/counter/main", "", ["If-Match": "\"99\""]) == 412)
            let dispatch = #"{"store":"counter/main","action":"increment"}"#
            for (path, body) in [("", dispatch), ("/counter/main/increment", ""), ("/counter/no/reset", "")] {
                #expect(try status("POST", "/v1/dispatch" + path, body, ["If-Match": "\"99\""]) == 412)
            }
            #expect(
                try status(
                    "POST", "/v1/dispatch", #"{"type":"counter","action":"reset"}"#, ["If-Match": "\"1\""])
                    == 400)
            // Nobody would be told what has become of it.
            #expect(try status("POST", "/v1/dispatch", dispatch.dropLast() + #","ack":false}"#) == 400)
            #expect(try web.ask("GET", "/v1/stores/counter/main", Self.bearer).fields["etag"] == "\"1\"")
            #expect(try status("GET", "/v1/stores?at=99") == 409)
            #expect(try status("POST", "/v1/stats") == 405)
            #expect(try status("GET", "/v1/nothing") == 404)
            #expect(try status("PUT", "/v1/stores/counter/new", #"{"count":3}"#) == 201)
            web.bus.stop()
            #expect(try status("GET", "/v1/stores") == 503)
            #expect(try status("GET", "/v1/changes") == 503)
        }
    }

    @Test func aBodyMayComeInChunks() async throws {
        try await Self.run { (web) throws in
            let client = try web.client()
            let chunked = Self.bearer.merging(["Transfer-Encoding": "chunked"]) { $1 }
            for revision in 3...4 {
                client.send(
                    client.request("POST", "/v1/dispatch/counter/main/increment", chunked)
                        + "4;a\r\n{\"by\r\n4\r\n\":2}\r\n0\r\nA: b\r\n\r\n")
                #expect(
                    try client.answer().text == #"{"changed":1,"matched":1,"revision":\#(revision)}"# + "\n")
            }
            #expect(
                try web.ask("GET", "/v1/stores/counter/main", Self.bearer).text
                    == #"{"count":4,"isEven":true}"# + "\n")
        }
    }

    @Test func aTagIsTheStoresRevision() async throws {
        try await Self.run { (web) throws in
            let path = "/v1/stores/counter/main"
            let first = try web.ask("GET", path, Self.bearer)
            #expect(first.fields["etag"] == "\"1\"" && first.text == #"{"count":0,"isEven":true}"# + "\n")
            let known = Self.bearer.merging(["If-None-Match": "\"7\", \"1\""]) { $1 }
            let again = try web.ask("GET", path, known)
            #expect(again.status == 304 && again.body.isEmpty && again.fields["etag"] == "\"1\"")
            #expect(try web.ask("POST", "/v1/dispatch/counter/other/increment", Self.bearer).status == 200)
            #expect(try web.ask("GET", path, known).status == 304)
            #expect(try web.ask("POST", "/v1/dispatch/counter/main/increment", Self.bearer).status == 200)
            let changed = try web.ask("GET", path, known)
            #expect(changed.status == 200 && changed.fields["etag"] == "\"4\"")
            // One that was replaced has a new one; what a hidden part of it was is gone.
            let match = Self.bearer.merging(["If-Match": "\"4\""]) { $1 }
            #expect(try web.ask("PUT", path, match, body: #"{"count":9}"#).status == 200)
            #expect(try web.ask("PUT", path, match, body: #"{"count":9}"#).status == 412)
            #expect(try web.ask("GET", path, Self.bearer).fields["etag"] == "\"5\"")
        }
    }

    /// However fast a store changes, a tag is that of the state beside it.
    @Test func aTagBelongsToItsState() async throws {
        try await Self.run { (web) throws in
            let isOver = Mutex(false)
            let done = DispatchSemaphore(value: 0)
            let address = web.bus.address
            Thread.detachNewThread {
                let client = try? LineClient(address)
                // So many that the questions about the past stay short.
                for _ in 0..<3000 where !isOver.withLock({ $0 }) {
                    _ = try? client?.ask(
                        #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
                }
                done.signal()
            }
            defer {
                isOver.withLock { $0 = true }
                done.wait()
            }
            var tags = 0
            for _ in 0..<60 {
                let now = try web.ask("GET", "/v1/stores/counter/main", Self.bearer)
                guard let tag = now.fields["etag"]?.filter({ $0 != "\"" }) else { continue }
                let then = try web.ask("GET", "/v1/stores/counter/main?at=\(tag)", Self.bearer)
                #expect(then.text == now.text, "\(tag)")
                tags += 1
            }
            #expect(tags > 0)
        }
    }

    @Test func aTokenOfTheBusIsEnough() async throws {
        var bus = LiveBus.Setup()
        (bus.listen, bus.tokens) = (["tcp:127.0.0.1:0"], "panel \(Self.token)\n")
        bus.stores = ["counter/main"]
        try await WebFixture.run(bus) { setup, bus in
            setup.bus = (try? BusAddress(parsing: bus.addresses[1])) ?? setup.bus
            setup.patience = .seconds(20)
        } _: { (web) throws in
            #expect(try web.ask("POST", "/v1/dispatch/counter/main/increment", Self.bearer).status == 200)
            #expect(try web.ask("GET", "/v1/stores").status == 401)
            // Strangers keep nobody out, neither those who show nothing nor those who guess.
            for _ in 0..<20 { #expect(try web.ask("GET", "/v1/stores").status == 401) }
            let wrong = ["Authorization": "Bearer wrong-wrong-wrong"]
            for path in ["/v1/stores", "/v1/changes"] {
                for _ in 0..<5 { #expect(try web.ask("GET", path, wrong).status == 401) }
            }
            let limited = try web.ask("GET", "/v1/stores", wrong)
            #expect(limited.status == 429 && limited.fields["retry-after"] == "60")
            #expect(try web.ask("GET", "/v1/stores", Self.bearer).status == 200)
        }
    }

    // MARK: - Events

    /// The events of a feed: `id`, `event` and the parsed `data`.
    private final class Feed {
        private let client: WebClient
        private var text: [UInt8] = []
        private var silence = 0

        init(_ web: WebFixture, _ query: String, after id: String? = nil, _ fields: [String: String] = bearer)
            throws
        {
            client = try web.client()
            let more = id.map { fields.merging(["Last-Event-ID": $0]) { $1 } } ?? fields
            client.send(client.request("GET", "/v1/changes?\(query)", more, body: ""))
            let head = try client.answer(hasBody: false)
            #expect(head.status == 200 && head.fields["content-type"] == "text/event-stream")
            #expect(head.fields["transfer-encoding"] == "chunked")
        }

        /// The next event that has data, or that only notes an id.
        func next() throws -> (id: String?, event: String?, data: JSON?) {
            while true {
                while let end = text.firstRange(of: Array("\n\n".utf8)) {
                    let lines = String(decoding: text[..<end.lowerBound], as: UTF8.self).split(
                        separator: "\n")
                    text.removeSubrange(..<end.upperBound)
                    func value(_ name: String) -> String? {
                        lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
                    }
                    if lines.allSatisfy({ $0.hasPrefix(":") || $0.hasPrefix("retry") }) {
                        silence += 1
                        // Each stands for a quarter of a minute in which nothing came.
                        guard silence < 8 else { throw Sockets.Failure("No event came.") }
                        continue
                    }
                    silence = 0
                    return (
                        value("id"), value("event"),
                        try value("data").map { try JSON(parsing: Array($0.utf8)) }
                    )
                }
                let size = try #require(Int(try client.line(), radix: 16))
                text += try client.take(size)
                _ = try client.line()
            }
        }

        /// Whether the next thing that comes is the end.
        func ends() throws -> Bool { try text.isEmpty && client.line() == "0" }

        func close() { client.close() }
    }

    @Test func changesAreToldAndGoOnBehindTheirID() async throws {
        try await Self.run { (web) throws in
            let path = "/v1/dispatch/counter/main/increment"
            let feed = try Feed(web, "match=counter/main")
            let first = try feed.next()
            #expect(first.event == "reset" && first.data?["states"]?["counter/main"]?["count"] == 0)
            #expect(try web.ask("POST", path, Self.bearer).status == 200)
            let change = try feed.next()
            #expect(change.event == "change" && change.data?["changes"]?["counter/main"]?["count"] == 1)
            #expect(change.id?.hasSuffix(":3") == true)
            feed.close()
            for _ in 0..<3 { _ = try web.ask("POST", path, Self.bearer) }
            let later = try Feed(web, "match=counter/main", after: change.id)
            let rest = try later.next()
            #expect(rest.event == "change" && rest.data?["from"] == 3 && rest.data?["revision"] == 6)
            #expect(rest.data?["states"]?["counter/main"]?["count"] == 4)
        }
    }

    /// Who goes away before the first event comes back to what was then, too.
    @Test(arguments: ["initial=false", "actions=true"])
    func whatIsMissedBeforeTheFirstEventIsTold(_ query: String) async throws {
        try await Self.run { (web) throws in
            let feed = try Feed(web, query)
            let start = try feed.next()
            #expect(start.event == nil && start.id?.split(separator: ":").last == "2")
            feed.close()
            #expect(try web.ask("POST", "/v1/dispatch/counter/main/increment", Self.bearer).status == 200)
            let later = try Feed(web, query, after: start.id)
            var event = try later.next()
            while event.event == nil { event = try later.next() }
            #expect(event.data?["revision"] == 3)
        }
    }

    @Test func aDispatchIsAPartOfItsTrace() async throws {
        try await Self.run { (web) throws in
            let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let fields = Self.bearer.merging(["traceparent": trace]) { $1 }
            #expect(try web.ask("POST", "/v1/dispatch/counter/main/increment", fields).status == 200)
            let history = try web.ask("GET", "/v1/history?order=newest&limit=1", Self.bearer)
            #expect(history.text.contains(trace))
        }
    }

    /// The feed waits for a bus that is away, and goes on where it was.
    @Test func aRestartOfTheBusIsNotSeen() async throws {
        try await Self.run { (web) throws in
            let feed = try Feed(web, "match=counter/main&actions=true")
            var last: String?
            for round in 0..<3 {
                // At first before anything was told.
                web.bus.stop()
                try web.bus.start()
                let line = try web.bus.client()
                for _ in 0..<2 {
                    #expect(
                        try line.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
                            .contains("true"))
                }
                let batch =
                    #"{"op":"dispatch","actions":[{"store":"counter/main","action":"increment","payload":{"by":2}},{"store":"counter/main","action":"reset"}]}"#
                #expect(try line.ask(batch).contains("true"))
                let revision = 3 + 3 * round
                var told: [String] = []
                while told.count < 4 {
                    let event = try feed.next()
                    guard event.event == "action" else { continue }
                    last = event.id
                    told.append(
                        "\(event.id?.split(separator: ":").dropFirst().joined(separator: ":") ?? "") \(event.data?["action"]?.string ?? "")"
                    )
                }
                #expect(
                    told == [
                        "\(revision):0 increment", "\(revision + 1):0 increment",
                        "\(revision + 2):0 increment",
                        "\(revision + 2):1 reset",
                    ])
            }
            // A client that comes back while the bus is away waits for it.
            let id = try #require(last)
            web.bus.stop()
            let returned = try Feed(web, "match=counter/main&actions=true", after: id)
            try web.bus.start()
            let line = try web.bus.client()
            #expect(
                try line.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#).contains(
                    "true"))
            #expect(try returned.next().id?.hasSuffix(":12:0") == true)
        }
    }

    /// What was told of a commit of several actions is not told again, and the rest of it is.
    @Test func aCommitIsTakenUpInTheMiddle() async throws {
        try await Self.run { (web) throws in
            let batch =
                #"{"actions":[{"store":"counter/main","action":"increment"},{"store":"counter/other","action":"increment"},{"store":"counter/main","action":"reset"}]}"#
            let feed = try Feed(web, "actions=true")
            #expect(try web.ask("POST", "/v1/dispatch", Self.bearer, body: batch).status == 200)
            var event = try feed.next()
            while event.event != "action" { event = try feed.next() }
            feed.close()
            #expect(event.id?.hasSuffix(":3:0") == true)
            let rest = try Feed(web, "actions=true", after: event.id)
            var told: [Int] = []
            while told.count < 2 {
                let event = try rest.next()
                if event.event == "action" { told.append(event.data?["index"]?.int ?? 0) }
            }
            #expect(told == [1, 2])
        }
    }

    @Test func signingOutEndsAFeed() async throws {
        try await Self.run { (web) throws in
            let cookie = ["Cookie": try web.signIn()]
            let feed = try Feed(web, "match=counter/main", cookie)
            #expect(try feed.next().event == "reset")
            let own = cookie.merging(["Origin": "http://\(web.host)"]) { $1 }
            #expect(try web.ask("DELETE", "/session", own).status == 204)
            #expect(try feed.ends())
        }
    }

    // MARK: - Descriptions

    @Test func everyActionIsAnOperation() async throws {
        try await Self.run { (web) throws in
            let document = try JSON(parsing: web.ask("GET", "/openapi.json", Self.bearer).text)
            let paths = try #require(document["paths"]?.object)
            let types = try JSON(parsing: web.ask("GET", "/v1/types", Self.bearer).text)["types"]?.array ?? []
            #expect(!types.isEmpty)
            for type in types {
                let name = type["type"]?.string ?? ""
                #expect(document["components"]?["schemas"]?["state.\(name)"] != nil)
                for action in type["actions"]?.object?.keys ?? [] {
                    for path in ["/v1/dispatch/\(name)/\(action)", "/v1/dispatch/\(name)/{name}/\(action)"] {
                        #expect(paths[path]?["post"]?["operationId"] != nil, "\(path)")
                    }
                    #expect(
                        document["components"]?["schemas"]?["payload.\(name).\(action)"]?["type"] == "object")
                }
            }
            let events = try JSON(parsing: web.ask("GET", "/asyncapi.json", Self.bearer).text)
            #expect(events["channels"]?["counter"]?["messages"]?["increment"] != nil)
        }
    }

    /// Names that the document takes are those that the bus takes.
    @Test func namesAreDescribedAsTheyAre() throws {
        let path = APIDescription([]).openAPI["paths"]?["/v1/stores/{type}/{name}"]
        let parameters = try #require(path?["get"]?["parameters"]?.array)
        for (index, name, isOne) in [
            (0, "a-b_C1", true), (0, "A", false), (0, "a.b", false),
            (0, "a" + String(repeating: "b", count: 64), false),
            (1, "x:@-_9", true), (1, "_x", false), (1, "a.b", false),
            (1, String(repeating: "x", count: 129), false),
        ] {
            let pattern = try #require(parameters[index]["schema"]?["pattern"]?.string)
            #expect((name.range(of: pattern, options: .regularExpression) != nil) == isOne, "\(name)")
        }
    }
}
