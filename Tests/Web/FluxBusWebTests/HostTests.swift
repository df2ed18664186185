import BusSystem
import FluxBusWeb
import Testing

@Suite("Names, and pages that may ask")
struct HostTests {
    private static func policy(
        _ listening: String..., names: [String] = [], isSecure: Bool = false
    ) -> HostPolicy {
        HostPolicy(
            listening: listening.compactMap { InternetAddress(parsing: $0) }, names: names, isSecure: isSecure
        )
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:7480", "[::1]", "[::1]:7480",
        "[0:0:0:0:0:0:0:1]:9", "bus.home", "Bus.Home:443", "192.0.2.7:7480",
    ])
    func knownNamesAreKnown(_ host: String) {
        #expect(Self.policy("192.0.2.7:7480", names: ["bus.home"]).knows(host))
    }

    @Test(arguments: [
        "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:", "127.0.0.2",
        "127.0.0.1:80:80", "[::1", "[::1]x", "::1", "localhost:x", "192.0.2.8", "bus.home:443@evil",
        "localhost,evil", ":7480",
    ])
    func othersAreNot(_ host: String) {
        #expect(!Self.policy("192.0.2.7:7480", names: ["bus.home"]).knows(host))
        #expect(
            !Self.policy("192.0.2.7:7480", names: ["bus.home"]).allows(origin: "http://\(host)", host: host))
    }

    @Test func onAllAddressesEachIsKnownButNoName() {
        let policy = Self.policy("0.0.0.0:7480", isSecure: true)
        #expect(policy.knows("192.0.2.8:7480"))
        #expect(!policy.knows("evil.example:7480"))
    }

    @Test func onlyThePageItselfMayAsk() {
        let plain = Self.policy("127.0.0.1:7480", names: ["bus.home"])
        #expect(plain.allows(origin: "http://127.0.0.1:7480", host: "127.0.0.1:7480"))
        #expect(!plain.allows(origin: "http://localhost:7480", host: "127.0.0.1:7480"))
        #expect(!plain.allows(origin: "http://127.0.0.1:7481", host: "127.0.0.1:7480"))
        #expect(!plain.allows(origin: "https://127.0.0.1:7480", host: "127.0.0.1:7480"))
        #expect(!plain.allows(origin: "null", host: "127.0.0.1:7480"))
        #expect(!plain.allows(origin: nil, host: "127.0.0.1:7480"))
        // A proxy under that name may end TLS.
        #expect(plain.allows(origin: "https://bus.home", host: "bus.home"))
        let secure = Self.policy("192.0.2.7:7480", isSecure: true)
        #expect(secure.allows(origin: "https://192.0.2.7:7480", host: "192.0.2.7:7480"))
        #expect(!secure.allows(origin: "http://192.0.2.7:7480", host: "192.0.2.7:7480"))
    }

    @Test func foreignNamesAndPagesAreTurnedAway() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            for path in ["/", "/inspector/main.js", "/session", "/bus", "/metrics", "/healthz"] {
                let answer = try web.ask("GET", path, ["Host": "evil.example", "Cookie": cookie])
                #expect(answer.status == 421)
            }
            for origin in ["http://evil.example", "null", "http://localhost:1", ""] {
                let fields = ["Origin": origin, "Cookie": cookie]
                #expect(try web.client().upgrade(fields).status == 403)
                #expect(try web.ask("POST", "/session", fields, body: "x").status == 403)
                #expect(try web.ask("DELETE", "/session", fields).status == 403)
            }
            var bare = WebClient.handshake
            bare["Cookie"] = cookie
            #expect(try web.ask("GET", "/bus", bare).status == 403)
        }
    }

    @Test func theCookieIsForThePageAlone() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            for (field, value, isOwn) in [
                ("Origin", "http://\(web.host)", true), ("Origin", "http://localhost:1", false),
                ("Origin", "null", false), ("Sec-Fetch-Site", "same-origin", true),
                ("Sec-Fetch-Site", "none", true), ("Sec-Fetch-Site", "same-site", false),
                ("Sec-Fetch-Site", "cross-site", false),
            ] {
                let fields = ["Cookie": cookie, field: value]
                for path in ["/v1/stores/counter/main", "/openapi.json"] {
                    #expect(try web.ask("GET", path, fields).status == (isOwn ? 200 : 403), "\(value)")
                }
                #expect(try web.ask("GET", "/metrics", fields).status == (isOwn ? 200 : 401), "\(value)")
                let session = try web.ask("GET", "/session", fields).text
                #expect(session.contains(#""signedIn":\#(isOwn)"#), "\(value)")
            }
        }
    }

    /// The host of a whole address is held against the same names and pages as the field Host, which counts no more.
    @Test func wholeAddressesAreCheckedByTheirHost() async throws {
        try await WebFixture.run { web in
            let (own, cookie) = ("http://\(web.host)", try web.signIn())
            let fields = ["Host": "evil.example", "Cookie": cookie]
            #expect(try web.ask("GET", "\(own)/healthz", fields).text == "ok\n")
            let answer = try web.ask("GET", "\(own)/v1/stats", fields)
            #expect(answer.status == 200 && answer.fields["content-type"] == "application/json")
            for path in ["/healthz", "/v1/stats", ""] {
                #expect(try web.ask("GET", "http://evil.example\(path)", ["Cookie": cookie]).status == 421)
            }
            let foreign = ["Origin": "http://evil.example", "Host": "evil.example", "Cookie": cookie]
            #expect(try web.ask("DELETE", "\(own)/session", foreign).status == 403)
            #expect(
                try web.ask("DELETE", "\(own)/session", fields.merging(["Origin": own]) { $1 }).status == 204)
        }
    }

    @Test func refusedPathsAreAnsweredAsOtherRefusals() async throws {
        try await WebFixture.run { web in
            for (path, status, code) in [
                ("/hooks/../x", 400, "invalid_request"), ("/hooks/%2e%2e/x", 400, "invalid_request"),
                ("//", 404, "unknown_op"), ("//v1/stats", 404, "unknown_op"), ("/v1/", 404, "unknown_op"),
                ("/v1/stores/counter/%ff", 404, "unknown_op"), ("/nothing", 404, "unknown_op"),
                ("/v1", 401, "unauthorized"), ("http://evil.example/v1", 421, "invalid_request"),
            ] {
                let answer = try web.ask("POST", path)
                #expect(answer.status == status && answer.fields["content-type"] == "application/json")
                #expect(
                    answer.text.hasPrefix("{\"error\":{\"code\":\"\(code)\",\"message\":\""), "\(answer.text)"
                )
            }
        }
    }

    @Test func addressesAreReadAndWritten() throws {
        #expect(try WebAddress(parsing: "unix:/run/x") == .unix(path: "/run/x"))
        #expect(try WebAddress(parsing: "systemd:web") == .systemd(name: "web"))
        for (text, form, isLoopback) in [
            ("127.0.0.1:7480", "127.0.0.1:7480", true), ("localhost:1", "127.0.0.1:1", true),
            ("[::1]:0", "[::1]:0", true), ("[0::1]:5", "[::1]:5", true), ("0.0.0.0:80", "0.0.0.0:80", false),
            ("[::]:80", "[::]:80", false), ("127.9.9.9:2", "127.9.9.9:2", true),
            ("[::ffff:127.0.0.1]:2", "[::ffff:127.0.0.1]:2", false),
        ] {
            let address = try #require(InternetAddress(parsing: text))
            #expect(address.text == form && address.isLoopback == isLoopback)
        }
        for text in [
            "", "7480", "localhost", "bus.home:80", "::1:80", "[127.0.0.1]:80", "127.0.0.1:65536",
            "127.0.0.1:-1", "unix:relative", "systemd:", "unix:/" + String(repeating: "x", count: 200),
        ] {
            #expect(throws: WebFailure.self) { try WebAddress(parsing: text) }
        }
    }
}
