import BusJSON
import FluxBusWeb
import Foundation
import TestServer
import Testing

/// Pages of other servers, which may use `/v1` where they are named.
@Suite("Pages of other servers")
struct OriginTests {
    private static let token = "a-program-of-this-house"
    private static let named = "https://app.example.org"
    private static let bearer = ["Authorization": "Bearer \(token)"]

    private static func run(_ origins: [String], _ body: @escaping @Sendable (WebFixture) throws -> Void)
        async throws
    {
        try await WebFixture.run { setup, _ in
            (setup.origins, setup.apiToken) = (origins, Array(token.utf8))
        } _: { (web) throws in
            try body(web)
        }
    }

    /// What would let a browser show an answer to a page, or send a request for it.
    private static func grants(_ answer: WebClient.Answer) -> [String] {
        answer.fields.keys.filter { $0.hasPrefix("access-control-") }.sorted()
    }

    private static func ask(
        _ web: WebFixture, _ method: String, _ path: String, from origin: String,
        _ fields: [String: String] = [:]
    ) throws -> WebClient.Answer {
        try web.ask(method, path, fields.merging(["Origin": origin]) { $1 })
    }

    @Test func unlessOneIsNamedNoneMay() async throws {
        try await Self.run([]) { (web) throws in
            for method in ["OPTIONS", "GET"] {
                let answer = try Self.ask(web, method, "/v1/stores", from: Self.named, Self.bearer)
                #expect(Self.grants(answer) == [] && answer.fields["vary"] == nil)
                #expect(answer.fields["cross-origin-resource-policy"] == "same-origin")
            }
        }
    }

    @Test func whoIsNamedIsShownAnswers() async throws {
        try await Self.run([Self.named, "http://localhost:3000"]) { (web) throws in
            let asked = [
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
            ]
            for path in ["/v1/dispatch/counter/main/increment", "/v1/changes", "/openapi.json"] {
                let preflight = try Self.ask(web, "OPTIONS", path, from: Self.named, asked)
                #expect(preflight.status == 204 && preflight.body.isEmpty)
                #expect(preflight.fields["access-control-allow-origin"] == Self.named)
                #expect(preflight.fields["access-control-allow-methods"]?.contains("POST") == true)
                for name in [
                    "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID",
                    "traceparent",
                ] {
                    #expect(preflight.fields["access-control-allow-headers"]?.contains(name) == true)
                }
            }
            for origin in [Self.named, "http://localhost:3000"] {
                let answer = try Self.ask(
                    web, "POST", "/v1/dispatch/counter/main/increment", from: origin, Self.bearer)
                #expect(answer.status == 200 && answer.fields["access-control-allow-origin"] == origin)
                #expect(answer.fields["cross-origin-resource-policy"] == "cross-origin")
                #expect(answer.fields["vary"] == "Origin")
                #expect(answer.fields["access-control-expose-headers"] == "ETag, Retry-After")
            }
            // A page is also told why it is refused.
            let refused = try Self.ask(web, "GET", "/v1/stores", from: Self.named)
            #expect(refused.status == 401 && refused.fields["access-control-allow-origin"] == Self.named)
        }
    }

    /// Whoever answers, also where the request is not understood.
    @Test func whoIsNamedIsShownEarlyRefusals() async throws {
        try await Self.run([Self.named]) { (web) throws in
            for (path, fields, status) in [
                ("/v1/dispatch", ["Content-Length": "1048577"], 413),
                ("/v1/dispatch", ["Idempotency-Key": "\u{e4}"], 400), ("/v1/%2e/x", [:], 400),
                ("/v1/stores/", [:], 404), ("/v1/stores", ["Host": "evil.example"], 421),
            ] as [(String, [String: String], Int)] {
                for origin in [Self.named, "https://evil.org"] {
                    let answer = try Self.ask(web, "POST", path, from: origin, fields)
                    #expect(answer.status == status && answer.fields["vary"] == "Origin", "\(path)")
                    let isNamed = origin == Self.named
                    #expect(Self.grants(answer).isEmpty != isNamed, "\(path)")
                    #expect(
                        answer.fields["cross-origin-resource-policy"]
                            == (isNamed ? "cross-origin" : "same-origin"))
                }
            }
        }
    }

    @Test func aCookieCountsForNoneOfThem() async throws {
        try await Self.run([Self.named]) { (web) throws in
            let cookie = ["Cookie": try web.signIn()]
            #expect(try web.ask("GET", "/v1/stores", cookie).status == 200)
            for (method, path) in [
                ("GET", "/v1/stores"), ("GET", "/v1/changes"),
                ("POST", "/v1/dispatch/counter/main/increment"),
            ] {
                let answer = try Self.ask(web, method, path, from: Self.named, cookie)
                #expect(answer.status == 401, "\(method) \(path)")
                #expect(answer.fields["access-control-allow-credentials"] == nil)
            }
            // What is there for this server's own page alone stays so.
            for path in ["/session", "/bus", "/metrics", "/healthz", "/hooks/x", "/"] {
                let answer = try Self.ask(web, "GET", path, from: Self.named, cookie)
                #expect(Self.grants(answer) == [], "\(path)")
            }
            #expect(try Self.ask(web, "GET", "/bus", from: Self.named, cookie).status == 403)
        }
    }

    @Test func othersMayNot() async throws {
        try await Self.run([Self.named]) { (web) throws in
            for origin in [
                "https://app.example.org.evil.org", "http://app.example.org", "https://app.example.org:8443",
                "https://evil.org", "null", "*", "https://app.example.org/", "",
            ] {
                for method in ["OPTIONS", "GET", "POST"] {
                    let answer = try Self.ask(web, method, "/v1/stores", from: origin, Self.bearer)
                    #expect(Self.grants(answer) == [] && answer.fields["vary"] == "Origin", "\(origin)")
                }
            }
        }
    }

    @Test func anOriginIsSchemeAndNameAlone() {
        for (text, origin) in [
            ("https://App.example.org", "https://app.example.org"),
            ("http://[::1]:3000", "http://[::1]:3000"), ("https://a:443", "https://a"),
            ("http://[::1]:80", "http://[::1]"), ("https://a:80", "https://a:80"),
        ] { #expect(Origins.parse(text) == origin) }
        for wrong in [
            "", "*", "null", "app.example.org", "https://", "https://*", "https://a/", "https://a/b",
            "https://a?b",
            "https://u@a", "https://a, https://b", "file:///x", "https://:80", "https://a:",
            "https://ä.example",
        ] { #expect(Origins.parse(wrong) == nil, "\(wrong)") }
    }
}
