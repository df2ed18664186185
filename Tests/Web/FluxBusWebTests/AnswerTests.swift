import BusJSON
import FluxBusWeb
import Foundation
import TestFiles
import TestServer
import Testing

@Suite("Answers")
struct AnswerTests {
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    private static func expectSecurity(_ answer: WebClient.Answer, isFile: Bool = false) {
        #expect(answer.fields["content-security-policy"] == policy)
        #expect(answer.fields["x-content-type-options"] == "nosniff")
        #expect(answer.fields["referrer-policy"] == "no-referrer")
        #expect(answer.fields["cross-origin-opener-policy"] == "same-origin")
        #expect(answer.fields["cross-origin-resource-policy"] == "same-origin")
        #expect(answer.fields["cache-control"] == (isFile ? "no-cache" : "no-store"))
    }

    @Test func everyAnswerSaysWhatThePageMayDo() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let own = ["Origin": "http://\(web.host)", "Cookie": cookie]
            for (method, path, fields, status) in [
                ("GET", "/session", own, 200), ("POST", "/session", own, 403), ("POST", "/session", [:], 403),
                ("PUT", "/session", own, 405), ("GET", "/nothing", own, 404), ("POST", "/", own, 405),
                ("GET", "/inspector/", own, 404), ("GET", "/inspector/../session", own, 400),
                ("GET", "/inspector/%2e%2e/x", own, 400), ("GET", "//", own, 404), ("GET", "/bus", own, 400),
                ("POST", "/bus", own, 405),
                ("GET", "/bus", [:], 403), ("GET", "/metrics", [:], 401), ("GET", "/metrics", own, 200),
                ("DELETE", "/metrics", own, 405), ("GET", "/healthz", [:], 200),
                ("GET", "/", ["Host": "evil"], 421), ("GET", "/", ["Transfer-Encoding": "gzip"], 501),
                ("GET", "/", ["Content-Length": "x"], 400), ("GET", "/", ["Content-Length": "99999"], 413),
                ("GET", "/" + String(repeating: "x", count: 3000), [:], 414),
                ("GET", "/", ["X": String(repeating: "x", count: 20_000)], 431), ("get", "/", [:], 400),
            ] as [(String, String, [String: String], Int)] {
                let answer = try web.ask(method, path, fields)
                #expect(answer.status == status, "\(method) \(path.prefix(40))")
                Self.expectSecurity(answer)
            }
            let upgraded = try web.client().upgrade(["Cookie": cookie])
            #expect(upgraded.status == 101)
            Self.expectSecurity(upgraded)
        }
    }

    @Test func thePageIsThatOfTheRepository() async throws {
        let folder = Repository.root.appendingPathComponent("Sources/Web/Inspector")
        let library = Repository.root.appendingPathComponent("Sources/Clients/JavaScript/fluxbus.js")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains("index.html") && !names.contains("fluxbus.js"))
        let files = names.map(folder.appendingPathComponent) + [library]
        #expect(Set(files.map(\.lastPathComponent)) == Set(InspectorFiles.all.keys))
        try await WebFixture.run { web in
            let types = [
                "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
                "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
            ]
            let client = try web.client()
            for file in files {
                let name = file.lastPathComponent
                let answer = try client.ask("GET", "/inspector/\(name)")
                #expect(answer.status == 200)
                #expect(try Data(answer.body) == Data(contentsOf: file), "\(name)")
                let type = try #require(types[name.components(separatedBy: ".").last ?? ""], "\(name)")
                #expect(answer.fields["content-type"] == type)
                Self.expectSecurity(answer, isFile: true)
            }
            #expect(try client.ask("GET", "/").body == client.ask("GET", "/inspector/index.html").body)
        }
    }

    /// Compressed for who takes that, and with another tag: what was kept of one is not taken for the other.
    @Test func filesAreCompressedForWhoTakesThat() async throws {
        try await WebFixture.run { web in
            let client = try web.client()
            let plain = try client.ask("GET", "/inspector/main.js")
            #expect(plain.fields["content-encoding"] == nil)
            #expect(plain.fields["vary"] == "Accept-Encoding")
            for accepted in ["gzip", "deflate, gzip;q=0.5, br", "GZIP", "*"] {
                let packed = try client.ask("GET", "/inspector/main.js", ["Accept-Encoding": accepted])
                #expect(packed.fields["content-encoding"] == "gzip", "\(accepted)")
                #expect(packed.body.count < plain.body.count / 2)
                #expect(packed.fields["etag"] != plain.fields["etag"])
                Self.expectSecurity(packed, isFile: true)
                let tag = try #require(packed.fields["etag"])
                let again = try client.ask(
                    "GET", "/inspector/main.js", ["Accept-Encoding": accepted, "If-None-Match": tag])
                #expect(again.status == 304 && again.fields["etag"] == tag)
                #expect(
                    try client.ask("GET", "/inspector/main.js", ["If-None-Match": tag]).status == 200)
                let unpacked = try Self.unpacked(packed.body)
                #expect(unpacked == plain.body)
            }
            for refused in ["", "br", "gzip;q=0", "gzip; q=0.0, br", "identity"] {
                let answer = try client.ask("GET", "/inspector/main.js", ["Accept-Encoding": refused])
                #expect(answer.fields["content-encoding"] == nil && answer.body == plain.body, "\(refused)")
            }
        }
    }

    /// What another program makes of it.
    private static func unpacked(_ bytes: [UInt8]) throws -> [UInt8] {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/file.gz"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try Array(RunningProgram(["/bin/gzip", "-dc", path]).wait().output.utf8)
    }

    @Test func aKnownFileIsNotSentAgain() async throws {
        try await WebFixture.run { web in
            let client = try web.client()
            let first = try client.ask("GET", "/")
            let tag = try #require(first.fields["etag"])
            for given in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let answer = try client.ask("GET", "/", ["If-None-Match": given])
                #expect(answer.status == 304 && answer.body.isEmpty && answer.fields["etag"] == tag)
                Self.expectSecurity(answer, isFile: true)
            }
            #expect(try client.ask("GET", "/", ["If-None-Match": "\"x\""]).status == 200)
            #expect(try client.ask("GET", "/inspector/main.js").fields["etag"] != tag)
        }
    }

    /// What follows is the next answer, not the body of the last.
    @Test func whoAsksForTheHeadGetsNoBody() async throws {
        try await WebFixture.run { web in
            let client = try web.client()
            for path in ["/", "/inspector/main.js", "/healthz", "/metrics", "/nothing", "/session", "/bus"] {
                let whole = try client.ask("GET", path)
                let head = try client.ask("HEAD", path)
                #expect(path == "/session" || path == "/bus" || head.status == whole.status)
                if head.status == whole.status {
                    #expect(head.fields["content-length"] == String(whole.body.count))
                }
                #expect(try client.ask("GET", "/session").status == 200)
            }
        }
    }

    /// Events end nowhere, which only clients of HTTP/1.1 understand.
    @Test func eventsNeedAClientThatUnderstandsThem() async throws {
        try await WebFixture.run { web in
            let fields = "Host: \(web.host)\r\nCookie: \(try web.signIn())\r\n\r\n"
            for (version, status) in [("1.0", 505), ("1.1", 200)] {
                let client = try web.client()
                client.send("GET /v1/changes HTTP/\(version)\r\n" + fields)
                #expect(try client.answer(hasBody: false).status == status)
            }
            let client = try web.client()
            client.send("HEAD /v1/changes HTTP/1.1\r\n" + fields)
            let answer = try client.answer(hasBody: false)
            #expect(answer.status == 405 && answer.fields["allow"] == "GET")
        }
    }

    @Test func whatAPutMeetsIsSaidInTermsOfHTTP() async throws {
        var setup = LiveBus.Setup()
        setup.types = ["counter": try Repository.text("config/types/counter.yaml")]
        try await WebFixture.run(setup) { (web) throws in
            let own = ["Origin": "http://\(web.host)", "Cookie": try web.signIn()]
            let path = "/v1/stores/counter/attic"
            #expect(try web.ask("PUT", path, own).status == 201)
            let answer = try web.ask("PUT", path, own)
            #expect(answer.status == 409)
            #expect(
                try JSON(parsing: answer.text)["error"]?["message"]
                    == "counter/attic exists already; use it, or replace it by a PUT with `If-Match`.")
        }
    }

    @Test func thePageAsksForNothingThatIsNotThere() throws {
        let text = try Repository.text("Sources/Web/Inspector/index.html")
        let named = text.matches(of: /\/inspector\/([A-Za-z.\-]+)/).map { String($0.1) }
        #expect(!named.isEmpty)
        for name in named { #expect(InspectorFiles.all[name] != nil, "\(name)") }
    }
}
