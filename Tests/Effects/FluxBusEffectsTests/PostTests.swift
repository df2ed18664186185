import BusJSON
import FluxBus
import Foundation
import TestCertificates
import TestFiles
import TestServer
import Testing

/// `post` against a real server that fails, hangs, redirects, resets, goes on for ever, and shows certificates.
@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "Python is missing."))
struct PostTests {
    private static let on = "on: { action: echo, of: log/* }\n"

    private static func effect(_ post: String, _ more: String = "") -> String {
        "\(on)do: { post: { \(post) } }\n\(more)"
    }

    private func failures(_ effect: String, _ bus: Bus, _ count: Int = 1) async throws -> [String] {
        let state = try await bus.state(of: "effect/\(effect)").state
        let reasons = (state["failed"]?.object?.members ?? []).compactMap { $0.value["reason"]?.string }
        #expect(reasons.count == count, "\(state)")
        return reasons
    }

    @Test func anEventIsPostedWithItsSecretsAndItsKey() async throws {
        let server = try HookServer()
        let url = "http://127.0.0.1:\(server.port)"
        let fixture = try EffectsFixture([
            "event": Self.effect(
                "url: '\(url)/ok/{name}?q={payload.text}', headers: { Authorization: { file: token, prefix: 'Bearer ' }, X-Store: = store, X-Empty: '' }"
            ),
            "body": Self.effect(
                "url: { file: hook }, headers: { Content-Type: text/json, User-Agent: bell }, body: { at: = revision, door: = name }"
            ),
        ])
        try fixture.directory.write("token", "first\n")
        try fixture.directory.write("hook", "\(url)/hidden\n")
        try fixture.start()
        let bus = try await fixture.bus()
        let traces = ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", nil]
        for (number, secret) in ["first", "second"].enumerated() {
            try fixture.directory.write("token", secret + "\n")
            let payload: JSONObject = ["text": "a b&c=d/ü#?", "number": .int(number)]
            let revision = try await bus.dispatch(
                "echo", to: .store("log/a"), payload: payload, traceparent: traces[number]
            ).revision
            for effect in ["event", "body"] {
                try await fixture.waits(for: "effect/\(effect)", bus) { $0["succeeded"] == .int(number + 1) }
            }
            let request = try #require(server.requests.last { $0.path.hasPrefix("/ok") })
            #expect(request.path == "/ok/a?q=a%20b%26c%3Dd%2F%C3%BC%23%3F")
            #expect(request["Authorization"] == "Bearer \(secret)" && request["X-Store"] == "log/a")
            #expect(request["Content-Type"] == "application/json" && request["X-Empty"] == "")
            #expect(request["traceparent"] == traces[number])
            #expect(request["Idempotency-Key"] == "event:\(bus.greeting.epoch):\(revision):0")
            let event = try JSON(parsing: Array(request.body.utf8))
            #expect(
                event["store"] == "log/a" && event["payload"] == .object(payload)
                    && event["by"]?["uid"] != nil)
            #expect(event["revision"] == .int(revision) && event["effect"] == "event")
            let other = try #require(server.requests.last { $0.path == "/hidden" })
            #expect(other["Content-Type"] == "text/json" && other["User-Agent"] == "bell")
            #expect(try JSON(parsing: Array(other.body.utf8)) == ["at": .int(revision), "door": "a"])
        }
        #expect(try fixture.stop() == 0)
    }

    /// What is said of each failure. None of them costs more than its retry.
    private static let answers = [
        "fail": "answers 500: it is broken", "gone": "answers 410",
        "hang": "does not answer in time", "redirect": "redirects (302), and redirects are not followed",
        "moved": "redirects (308)", "reset": "127.0.0.1", "endless-fail": "answers 500",
        "long": "A line of the answer's header is too long",
    ]

    @Test func whatFailsIsTriedAgainAndSaysWhy() async throws {
        let server = try HookServer()
        let url = "http://127.0.0.1:\(server.port)"
        let more = "timeout: 1s\nretry: { times: 1, first: 10ms }"
        var effects = [
            "endless": Self.effect("url: \(url)/endless", more),
            "refused": Self.effect("url: 'http://127.0.0.1:1/'", more),
            "secret": Self.effect("url: \(url)/ok, headers: { X-Key: { file: none } }", more),
            "lines": Self.effect("url: \(url)/ok, headers: { X-Key: { file: lines } }", more),
            "hidden": Self.effect("url: { file: nowhere }", more),
        ]
        for word in Self.answers.keys { effects[word] = Self.effect("url: \(url)/\(word)", more) }
        let fixture = try EffectsFixture(effects)
        try fixture.directory.write("lines", "secret\nX-Evil: 1")
        try fixture.directory.write("nowhere", "gopher://secret")
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        // What is read of an answer without an end is enough.
        try await fixture.waits(for: "effect/endless", bus) { $0["succeeded"] == 1 }
        let others = [
            "refused": "127.0.0.1:1: Failed to connect", "secret": "/none: The file can't be opened",
            "lines": "/lines has a line's end",
            "hidden": "the address can't be posted to: begin it with https://",
        ]
        for (effect, words) in Self.answers.merging(others, uniquingKeysWith: { $1 }) {
            try await fixture.waits(for: "effect/\(effect)", bus) {
                $0["failures"] == 1 && $0["retried"] == 1
            }
            let reason = try await failures(effect, bus).first ?? ""
            #expect(reason.contains(words) && !reason.contains("secret"), "\(effect): \(reason)")
        }
        let paths = server.requests.map(\.path)
        for word in Self.answers.keys {
            let count = paths.count { $0 == "/\(word)" }
            #expect(count == 2, "\(word): \(count)")
        }
        #expect(!paths.contains("/redirected") && !paths.contains("/ok"), "\(paths)")
        #expect(try fixture.stop() == 0)
    }

    @Test func certificatesAndNamesAreChecked() async throws {
        let authority = try TestAuthority()
        let stranger = try TestAuthority("Stranger")
        let issued = try authority.server()
        let elsewhere = try authority.server("elsewhere", names: "DNS:elsewhere.example")
        let servers = [
            try HookServer(certificate: issued.certificate, key: issued.key),
            try HookServer(certificate: elsewhere.certificate, key: elsewhere.key),
        ]
        let urls = servers.map { "https://localhost:\($0.port)/ok" }
        let more = "timeout: 5s\nretry: { times: 0 }"
        let fixture = try EffectsFixture([
            "good": Self.effect("url: \(urls[0]), ca: \(authority.certificate)", more),
            "unknown": Self.effect("url: \(urls[0])", more),
            "other": Self.effect("url: \(urls[0]), ca: \(stranger.certificate)", more),
            "name": Self.effect("url: \(urls[1]), ca: \(authority.certificate)", more),
            "none": Self.effect("url: \(urls[0]), ca: /nonexistent", more),
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        try await fixture.waits(for: "effect/good", bus) { $0["succeeded"] == 1 }
        for (effect, words) in [
            ("unknown", "SSL certificate problem"), ("other", "SSL certificate problem"),
            ("name", "no alternative certificate subject name"), ("none", "/nonexistent"),
        ] {
            try await fixture.waits(for: "effect/\(effect)", bus) { $0["failures"] == 1 }
            let reason = try await failures(effect, bus).first ?? ""
            #expect(reason.contains(words), "\(effect): \(reason)")
        }
        #expect(servers.map(\.requests.count) == [1, 0])
    }

    /// A server that has too much to do says when it wants to be asked again, and is asked no sooner; but no later than the effect's
    /// longest wait, and only where the status means that.
    @Test func aServerIsGivenTheTimeThatItAsksFor() async throws {
        let server = try HookServer()
        let url = "http://127.0.0.1:\(server.port)"
        let patient = "retry: { times: 1, first: 10ms, most: 1m }"
        let fixture = try EffectsFixture([
            "seconds": Self.effect("url: \(url)/busy-503-1", patient),
            "date": Self.effect("url: \(url)/busydate-429-2", patient),
            "bounded": Self.effect(
                "url: \(url)/busy-429-3600", "retry: { times: 1, first: 10ms, most: 20ms }"),
            "other": Self.effect("url: \(url)/busy-500-3600", patient),
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let start = ContinuousClock.now
        try await bus.dispatch("echo", to: .store("log/a"))
        // A date is a whole second: two of them from now on are more than one.
        for (effect, least) in [("bounded", 0.0), ("other", 0), ("seconds", 1), ("date", 1)] {
            try await fixture.waits(for: "effect/\(effect)", bus) {
                $0["succeeded"] == 1 && $0["retried"] == 1
            }
            let time = ContinuousClock.now - start
            #expect(time >= .seconds(least) && time < .seconds(60), "\(effect): \(time)")
        }
        #expect(server.requests.count == 8)
    }

    /// A server that demands it is shown a certificate of the client, from a file or a credential.
    @Test func aServerIsShownTheCertificateThatItDemands() async throws {
        let authority = try TestAuthority()
        let issued = try authority.server()
        let server = try HookServer(
            certificate: issued.certificate, key: issued.key, clients: authority.certificate)
        let client = try authority.client("bell")
        let stranger = try TestAuthority("Stranger").client("bell")
        let post = "url: 'https://localhost:\(server.port)/ok', ca: \(authority.certificate)"
        let more = "timeout: 5s\nretry: { times: 0 }"
        let fixture = try EffectsFixture([
            "files": Self.effect("\(post), certificate: \(client.certificate), key: \(client.key)", more),
            "credentials": Self.effect("\(post), certificate: bell.pem, key: bell.key", more),
            "both": Self.effect("\(post), certificate: both.pem", more),
            "none": Self.effect(post, more),
            "other": Self.effect("\(post), certificate: \(stranger.certificate), key: \(stranger.key)", more),
            "mixed": Self.effect("\(post), certificate: \(client.certificate), key: \(stranger.key)", more),
        ])
        let (certificate, key) = try (
            String(contentsOfFile: client.certificate, encoding: .utf8),
            String(contentsOfFile: client.key, encoding: .utf8)
        )
        try fixture.directory.write("bell.pem", certificate)
        try fixture.directory.write("bell.key", key)
        try fixture.directory.write("both.pem", certificate + key)
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        for effect in ["files", "credentials", "both"] {
            try await fixture.waits(for: "effect/\(effect)", bus) { $0["succeeded"] == 1 }
        }
        for effect in ["none", "other", "mixed"] {
            try await fixture.waits(for: "effect/\(effect)", bus) { $0["failures"] == 1 }
            let reason = try await failures(effect, bus).first ?? ""
            #expect(reason.contains("localhost"), "\(effect): \(reason)")
        }
        #expect(server.requests.count == 3)
    }

    /// What clients send adds no header, ends none, and chooses no other place of the server.
    @Test func hostilePayloadsStayWhereTheFilePutsThem() async throws {
        let server = try HookServer()
        let fixture = try EffectsFixture([
            "hostile": Self.effect(
                "url: 'http://127.0.0.1:\(server.port)/ok/{payload.text}/end', headers: { X-Text: = payload.text }, body: { text: = payload.text }",
                "retry: { times: 3, first: 1m }"),
            "large": Self.effect(
                "url: 'http://127.0.0.1:\(server.port)/large', body: { text: = payload.text }", ""),
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let fine = [
            "$(reboot)", "`id`", "'; true; '", "%n%s%0d%0a", "-rf", "../..", "a/../b", "?x#y", "@evil", "ü",
            "::",
        ]
        let evil = [
            "a\nX-Evil: 1", "a\r\nX-Evil: 1", "a\r\n\r\nPOST /evil HTTP/1.1", "\u{0}", "\u{7f}", "..", ".",
            "",
            String(repeating: "x", count: 9000), String(repeating: "x", count: 1_000_000),
        ]
        for text in fine + evil {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["text": .string(text)])
        }
        try await fixture.waits(for: "effect/hostile", bus) {
            $0["failures"]?.int == evil.count && $0["succeeded"]?.int == fine.count
        }
        try await fixture.waits(for: "effect/large", bus) { $0["succeeded"]?.int == fine.count + evil.count }
        let requests = server.requests.filter { $0.path.hasPrefix("/ok") }
        #expect(requests.count == fine.count)
        for (text, request) in zip(fine, requests) {
            #expect(
                Set(request.headers.map(\.name)) == [
                    "Host", "Accept", "User-Agent", "Idempotency-Key", "Content-Type", "X-Text",
                    "Content-Length",
                ])
            // Python reads headers as Latin-1.
            #expect(request["X-Text"].map { $0.data(using: .isoLatin1) } == Data(text.utf8), "\(text)")
            #expect(request.path.split(separator: "/").count == 3 && request.path.hasSuffix("/end"))
            #expect(request.path.split(separator: "/")[1].removingPercentEncoding == text)
            #expect(try JSON(parsing: Array(request.body.utf8)) == ["text": .string(text)])
        }
        let bodies = try server.requests.filter { $0.path == "/large" }.map {
            try JSON(parsing: Array($0.body.utf8))["text"]?.string
        }
        #expect(bodies == fine + evil)
        let reasons = try await failures("hostile", bus, evil.count)
        #expect(reasons.count { $0.contains("the header X-Text has a line's end") } == 5, "\(reasons)")
        #expect(reasons.count { $0.contains("longer than 8192 bytes") } == 2, "\(reasons)")
        #expect(reasons.count { $0.contains("dots alone") || $0.contains("is empty") } == 3, "\(reasons)")
    }

    /// What was on its way when the service ended, and what happened while it was down, is sent by the next one: with the key
    /// by which the server knows it.
    @Test(arguments: [SIGKILL, SIGTERM])
    func theNextServiceGoesOnWithWhatWasNotDone(_ signal: Int32) async throws {
        let server = try HookServer()
        let fixture = try EffectsFixture([
            "hook": Self.effect("url: http://127.0.0.1:\(server.port)/hang-once")
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let first = try await bus.dispatch("echo", to: .store("log/a")).revision
        try await fixture.waits(for: "effect/hook", bus) { $0["running"] == 1 }
        #expect(server.awaitRequest())
        let service = try #require(fixture.service)
        service.signal(signal)
        // A request is given its time, and then given up.
        #expect(try service.wait().status == (signal == SIGTERM ? 0 : -1))
        let second = try await bus.dispatch("echo", to: .store("log/a")).revision
        try fixture.start()
        try await fixture.waits(for: "effect/hook", bus) { $0["succeeded"] == 2 && $0["running"] == 0 }
        let keys = server.requests.compactMap { $0["Idempotency-Key"] }
        #expect(keys == [first, first, second].map { "hook:\(bus.greeting.epoch):\($0):0" })
        #expect(try fixture.stop() == 0)
    }
}
