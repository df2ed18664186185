import BusJSON
import FluxBus
import FluxBusWeb
import Foundation
import Glibc
import Synchronization
import TestFiles
import TestServer
import Testing

/// Other programs' requests at `/hooks/NAME`.
@Suite("Hooks")
struct HookTests {
    private static let token = "a-token-of-the-bus"
    private static let secret = "It's a Secret to Everybody"

    /// Directories of a test's hooks and of its secrets.
    private static func write(_ hooks: [String: String], _ secrets: [String: String]) throws
        -> TemporaryDirectory
    {
        let directory = TemporaryDirectory()
        for (name, text) in hooks { try directory.write("hooks/\(name).yaml", "hook: \(name)\n\(text)\n") }
        for (name, text) in secrets { try directory.write("secrets/\(name)", text + "\n") }
        return directory
    }

    /// What a server says to whoever looks after it.
    private final class Said: Sendable {
        private let text = Mutex<[String]>([])
        var lines: [String] { text.withLock { $0 } }
        func add(_ line: String) { text.withLock { $0.append(line) } }
    }

    /// A server with hooks at `counter/main`, on a bus that knows it by its user.
    private static func run(
        _ hooks: [String: String], secrets: [String: String] = ["s": secret], _ said: Said = Said(),
        _ body: @escaping @Sendable (WebFixture, TemporaryDirectory) throws -> Void
    ) async throws {
        let directory = try write(hooks, secrets)
        try await WebFixture.run { setup, _ in
            setup.hooks = "\(directory.path)/hooks"
            setup.credentials = "\(directory.path)/secrets"
            setup.apiToken = Array(token.utf8)
            setup.say = { said.add($0) }
        } _: { (web) throws in
            try body(web, directory)
        }
    }

    /// What OpenSSL's own program computes.
    private static func hmac(_ text: String, _ secret: String = secret) throws -> String {
        let directory = TemporaryDirectory()
        let file = try directory.write("text", text)
        let key = secret.utf8.map { String(format: "%02x", $0) }.joined()
        let program = try RunningProgram([
            "/usr/bin/openssl", "dgst", "-sha256", "-r", "-mac", "HMAC", "-macopt", "hexkey:" + key, file,
        ])
        return String(try program.wait().output.prefix(64))
    }

    private static func code(_ answer: WebClient.Answer) throws -> String? {
        try JSON(parsing: answer.text)["error"]?["code"]?.string
    }

    // MARK: - Samples

    private static func recorded(_ name: String) throws -> String {
        try Repository.text("Tests/Web/FluxBusWebTests/Hooks/\(name).json")
    }

    /// The samples take what GitHub, Stripe and Grafana post, and nobody else.
    @Test func theSamplesTakeWhatTheServicesPost() async throws {
        let secrets = [
            "github-secret": Self.secret, "stripe-secret": "whsec_0123456789abcdef",
            "grafana-secret": "grafana-0123456789", "hook-token": Self.token,
        ]
        let (directory, said) = (try Self.write([:], secrets), Said())
        var bus = LiveBus.Setup()
        (bus.listen, bus.tokens) = (["tcp:127.0.0.1:0"], "hooks \(Self.token)\n")
        for type in ["counter", "todo", "value"] {
            bus.types[type] = try Repository.text("config/types/\(type).yaml")
        }
        bus.stores = ["todo/hello-world", "counter/sales", "value/alert"]
        try await WebFixture.run(bus) { setup, bus in
            setup.bus = (try? BusAddress(parsing: bus.addresses[1])) ?? setup.bus
            setup.hooks = Repository.root.appendingPathComponent("config/hooks").path
            setup.credentials = "\(directory.path)/secrets"
            setup.say = { said.add($0) }
        } _: { (web) throws in
            let line = try web.bus.client()
            func state(_ store: String) throws -> JSON? {
                try JSON(parsing: line.ask(#"{"op":"get","store":"\#(store)"}"#))["states"]?[store]
            }
            let issue = try Self.recorded("github")
            var fields = [
                "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/044aadd",
                "X-GitHub-Event": "issues",
                "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
                "X-Hub-Signature-256": "sha256=" + (try Self.hmac(issue)),
            ]
            let opened = try web.ask("POST", "/hooks/github", fields, body: issue)
            #expect(
                opened.status == 200 && opened.text.hasPrefix(#"{"changed":1,"matched":1,"revision":"#),
                "\(opened.text)")
            #expect(
                try state("todo/hello-world")?["items"]?["1347"]?["title"]
                    == "Spelling error in the README file")
            let again = try web.ask("POST", "/hooks/github", fields, body: issue)
            #expect(again.status == 200 && again.text.contains(#""duplicate":true"#))
            fields["X-GitHub-Event"] = "ping"
            #expect(
                try web.ask("POST", "/hooks/github", fields, body: issue).text == #"{"ignored":true}"# + "\n")
            #expect(try web.ask("POST", "/hooks/github", fields, body: issue + " ").status == 401)

            let payment = try Self.recorded("stripe")
            let time = web.clock.seconds
            let signature = try Self.hmac("\(time).\(payment)", "whsec_0123456789abcdef")
            let paid = [
                "Stripe-Signature": "t=\(time),v1=\(signature),v0=\(String(repeating: "0", count: 64))"
            ]
            #expect(try web.ask("POST", "/hooks/stripe", paid, body: payment).status == 200)
            #expect(try web.ask("POST", "/hooks/stripe", paid, body: payment).text.contains("duplicate"))
            #expect(try state("counter/sales")?["count"] == 2000)
            let other = ["Stripe-Signature": "t=\(time + 1),v1=\(signature)"]
            #expect(try web.ask("POST", "/hooks/stripe", other, body: payment).status == 401)

            let bearer = ["Authorization": "Bearer grafana-0123456789"]
            #expect(
                try web.ask("POST", "/hooks/grafana", bearer, body: Self.recorded("grafana")).status == 200)
            #expect(try state("value/alert")?["value"]?["firing"] == 1)
            #expect(try web.ask("POST", "/hooks/grafana", paid, body: payment).status == 401)

            let document = try JSON(
                parsing: web.ask(
                    "GET", "/openapi.json", ["Authorization": "Bearer \(Self.token)"]
                ).text)
            for name in ["github", "stripe", "grafana"] {
                let post = document["paths"]?["/hooks/\(name)"]?["post"]
                #expect(post?["operationId"] == .string("hook.\(name)") && post?["security"] == [])
            }
            // The token of a hook that the bus does not take is no mistake of who posts.
            try directory.write("secrets/hook-token", "another-token-of-0123456789\n")
            let faulty = try web.ask("POST", "/hooks/grafana", bearer, body: Self.recorded("grafana"))
            #expect(faulty.status == 503 && !faulty.text.contains("token"))
            #expect(said.lines.last?.hasPrefix("hook grafana: the bus: This token is not") == true)
        }
    }

    // MARK: - What is shown

    private static let plain =
        "check: { signature: { header: X-S, file: s } }\ndispatch: { store: counter/main, action: increment }"

    @Test func onlyWhatTheFileNamesIsLetIn() async throws {
        try await Self.run([
            "plain": Self.plain,
            "token":
                "check: { token: { header: X-Gitlab-Token, file: s } }\ndispatch: { store: counter/main, action: increment }",
        ]) { (web, _) throws in
            let right = ["X-S": try Self.hmac("{}")]
            #expect(try web.ask("POST", "/hooks/plain", right, body: "{}").status == 200)
            #expect(try web.ask("POST", "/hooks/token", ["X-Gitlab-Token": Self.secret]).status == 200)
            // Who shows nothing is no guess, nor is who was signed in for something else.
            let cookie = ["Cookie": try web.signIn(), "Authorization": "Bearer \(Self.token)"]
            for _ in 0..<12 { #expect(try web.ask("POST", "/hooks/plain", cookie, body: "{}").status == 401) }
            var wrong: [[String: String]] = [
                ["X-S": try Self.hmac("{} ")], ["X-S": try Self.hmac("{}", "another secret of 24 bytes")],
                ["X-S": ""],
                ["X-S": "sha256=" + (try Self.hmac("{}"))], ["X-S": String(repeating: "0", count: 64)],
            ]
            wrong += wrong
            for fields in wrong {
                let answer = try web.ask("POST", "/hooks/plain", fields, body: "{}")
                #expect(answer.status == 401 && answer.fields["www-authenticate"] != nil)
                #expect(try Self.code(answer) == "unauthorized")
            }
            // Ten wrong ones of all hooks in a minute, and the right one is let in all the same.
            for (path, fields) in [("plain", wrong[0]), ("token", ["X-Gitlab-Token": Self.secret + "!"])] {
                let limited = try web.ask("POST", "/hooks/\(path)", fields, body: "{}")
                #expect(limited.status == 429 && limited.fields["retry-after"] == "60", "\(path)")
            }
            #expect(try web.ask("POST", "/hooks/plain", right, body: "{}").status == 200)
            #expect(try web.ask("GET", "/v1/stats", ["Authorization": "Bearer \(Self.token)"]).status == 200)
            web.clock.advance(by: .seconds(60))
            #expect(try web.ask("POST", "/hooks/plain", wrong[0], body: "{}").status == 401)
        }
    }

    /// One reader could take the first of two, and another the last.
    @Test func whatAHookReadsHasOneValue() async throws {
        try await Self.run(["shop": "headers: [X-Shop-Event]\n\(Self.plain)"]) { (web, _) throws in
            let right = try Self.hmac("{}")
            for (field, value, status) in [
                ("X-Other", "a\r\nx-other: \u{e4}", 200), ("X-S", "0\r\nx-s: \(right)", 400),
                ("X-Shop-Event", "returned\r\nx-shop-event: paid", 400), ("X-Shop-Event", "\u{e4}", 400),
                ("Content-Type", "a/b\r\ncontent-type: c/d", 400),
            ] {
                let fields = ["X-S": right].merging([field: value]) { $1 }
                #expect(try web.ask("POST", "/hooks/shop", fields, body: "{}").status == status, "\(field)")
            }
        }
    }

    @Test func anOldSignatureIsRefused() async throws {
        let hook = Self.plain.replacing("file: s", with: "form: stripe, tolerance: 1m, file: s")
        try await Self.run(["timed": hook]) { (web, _) throws in
            let time = web.clock.seconds
            let fields = ["X-S": "t=\(time),v1=\(try Self.hmac("\(time).{}"))"]
            web.clock.advance(by: .seconds(60))
            #expect(try web.ask("POST", "/hooks/timed", fields, body: "{}").status == 200)
            web.clock.advance(by: .seconds(1))
            // It is no guess, so however many come, none is answered with 429.
            for _ in 0..<12 {
                let late = try web.ask("POST", "/hooks/timed", fields, body: "{}")
                #expect(late.status == 401 && late.text.contains("made at \(time), and is good for 60 s"))
            }
        }
    }

    @Test func aSecretIsRenewedWithoutAReload() async throws {
        let said = Said()
        try await Self.run(["plain": Self.plain], secrets: [:], said) { (web, directory) throws in
            let (old, new) = ("the old secret of 25 bytes", "the new secret of 25 bytes")
            func status(_ secret: String) throws -> Int {
                try web.ask("POST", "/hooks/plain", ["X-S": Self.hmac("{}", secret)], body: "{}").status
            }
            for _ in 0..<3 { #expect(try status(old) == 503) }
            // Whoever asks again and again fills no journal.
            let path = "\(directory.path)/secrets/s"
            #expect(said.lines == ["hook plain: \(path) can't be read (No such file or directory)."])
            try directory.write("secrets/s", old)
            #expect(try status(old) == 200 && status(new) == 401)
            try directory.write("secrets/s", "\(new)\r\n\n\(old)\n")
            #expect(try status(old) == 200 && status(new) == 200)
            try directory.write("secrets/s", new + "\n")
            #expect(try status(old) == 401 && status(new) == 200)
            for bad in ["", "\n\n", "short", String(repeating: new + "\n", count: 5)] {
                try directory.write("secrets/s", bad)
                let answer = try web.ask("POST", "/hooks/plain", ["X-S": Self.hmac("{}", new)], body: "{}")
                #expect(try answer.status == 503 && Self.code(answer) == "unavailable")
                #expect(!answer.text.contains(directory.path))
            }
            #expect(chmod("\(directory.path)/secrets/s", 0o644) == 0)
            #expect(try status(new) == 503)
            #expect(
                said.lines.last
                    == "hook plain: Everybody can read \(path), which is a secret; run chmod o= on it.")
        }
    }

    // MARK: - What becomes of it

    @Test func whatGoesWrongHasItsStatus() async throws {
        let hooks = [
            "add": """
            check: { token: { file: s } }
            headers: [X-Kind]
            if: headers["x-kind"] != "other"
            dispatch: { store: = "counter/" + query.room, action: increment, payload: { by: = body.by }, key: = body.id }
            """,
            "typo": "check: { token: { file: s } }\ndispatch: { store: counter/main, action: incremen }",
        ]
        try await Self.run(hooks) { (web, _) throws in
            let bearer = ["Authorization": "Bearer \(Self.secret)", "X-Kind": "this"]
            func answer(
                _ body: String, _ path: String = "add?room=main", _ method: String = "POST",
                _ more: [String: String] = [:]
            ) throws -> String {
                let answer = try web.ask(method, "/hooks/\(path)", bearer.merging(more) { $1 }, body: body)
                return "\(answer.status) \(try Self.code(answer) ?? "")"
            }
            #expect(try answer(#"{"by":2,"id":1}"#) == "200 ")
            #expect(try answer(#"{"by":2,"id":1}"#, "none") == "404 unknown_op")
            #expect(try answer(#"{"by":2,"id":1}"#, "add?room=main", "PUT") == "405 invalid_request")
            #expect(try answer("{", "add?room=main") == "400 parse_error")
            let deep = String(repeating: "[", count: 100)
            #expect(try answer(deep, "add?room=main") == "413 too_large")
            #expect(try answer(#"{"by":"x","id":2}"#) == "400 invalid_payload")
            #expect(try answer(#"{"by":2}"#) == "400 invalid_request")
            #expect(try answer(#"{"by":2,"id":""}"#) == "400 invalid_request")
            #expect(try answer(#"{"by":2,"id":3}"#, "add") == "400 invalid_request")
            #expect(try answer(#"{"by":2,"id":3}"#, "add?room=a&room=b") == "400 invalid_request")
            #expect(try answer(#"{"by":2,"id":3}"#, "add?room=attic") == "404 unknown_store")
            #expect(try answer("", "typo") == "404 unknown_action")
            #expect(try answer(String(repeating: " ", count: 1 << 20), "add?room=main") == "400 parse_error")
            // A form is no JSON, and a text in it no number.
            let form = ["Content-Type": "application/x-www-form-urlencoded"]
            #expect(try answer("by=2&id=4", "add?room=main", "POST", form) == "400 invalid_payload")
            #expect(try answer("by=2&id=4") == "400 parse_error")
            let ignored = try web.ask(
                "POST", "/hooks/add?room=main", bearer.merging(["X-Kind": "other"]) { $1 },
                body: #"{"by":2,"id":9}"#)
            #expect(ignored.status == 200 && ignored.text == #"{"ignored":true}"# + "\n")
            let client = try web.client()
            client.send(client.request("POST", "/hooks/add", ["Content-Length": String(1 << 20 + 1)]))
            #expect(try client.answer().status == 413)
            // It was committed once, and it is known for whom.
            let history = try web.ask(
                "GET", "/v1/stores/counter/main", ["Authorization": "Bearer \(Self.token)"]
            ).text
            #expect(history.contains(#""count":2"#))
            web.bus.stop()
            #expect(try answer(#"{"by":2,"id":5}"#) == "503 unreachable")
        }
    }

    @Test func theBusIsToldWhichHookActs() async throws {
        var bus = LiveBus.Setup()
        bus.hasLog = true
        let directory = try Self.write(["plain": Self.plain], ["s": Self.secret])
        try await WebFixture.run(bus) { setup, _ in
            setup.hooks = "\(directory.path)/hooks"
            setup.credentials = "\(directory.path)/secrets"
        } _: { (web) throws in
            let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let fields = ["X-S": try Self.hmac(""), "traceparent": trace]
            #expect(try web.ask("POST", "/hooks/plain", fields).status == 200)
            let history = try web.bus.client().ask(#"{"op":"history","order":"newest","limit":1}"#)
            let commit = try JSON(parsing: history)["commits"]?[0]
            let by = commit?["by"]
            #expect(commit?["traceparent"]?.string == trace)
            #expect(by?["client"] == "hook/plain" && by?["via"]?.string?.hasPrefix("127.0.0.1") == true)
        }
    }

    // MARK: - Files

    @Test func aReloadPutsAllFilesInForceOrNone() async throws {
        try await Self.run(["plain": Self.plain]) { (web, directory) throws in
            let fields = ["X-S": try Self.hmac("{}")]
            func status(_ name: String) throws -> Int {
                try web.ask("POST", "/hooks/\(name)", fields, body: "{}").status
            }
            try directory.write("hooks/more.yaml", "hook: more\n\(Self.plain)")
            try directory.write("hooks/wrong.yaml", "hook: wrong\nchek: {}\n\(Self.plain)")
            #expect(throws: WebFailure.self) { try web.server.reloadHooks() }
            #expect(try status("plain") == 200 && status("more") == 404)
            try FileManager.default.removeItem(atPath: "\(directory.path)/hooks/wrong.yaml")
            try FileManager.default.removeItem(atPath: "\(directory.path)/hooks/plain.yaml")
            try web.server.reloadHooks()
            #expect(try status("plain") == 404 && status("more") == 200)
        }
    }

    @Test func theProgramChecksAndReloadsFiles() async throws {
        try await onThread {
            let directory = try Self.write(["plain": Self.plain], ["s": Self.secret])
            let hooks = "\(directory.path)/hooks"
            func check(_ address: String = "unix:/nowhere") throws -> RunningProgram.Outcome {
                try RunningProgram.run("fluxbus-web", ["--address", address, "--hooks", hooks, "--check"])
            }
            let right = try check()
            #expect(
                right.status == 0 && right.output == "fluxbus-web: 1 hooks OK: plain\n" && right.errors == "")
            let open = try check("tcp:127.0.0.1:1")
            #expect(
                open.status == 78
                    && open.errors.contains("plain.yaml:1:1: The bus at tcp:127.0.0.1:1 asks for a token;"))
            let web = try ProgramFixture(LiveBus.Setup(), ["--hooks", hooks])
            // The unit has given it no credentials.
            #expect(web.program.waitFor("fluxbus-web: hook plain: the unit has no credential s;"))
            let path = "\(directory.path)/secrets/s"
            try directory.write("hooks/plain.yaml", "hook: plain\n\(Self.plain)\nhedders: [a]\n")
            web.program.signal(SIGHUP)
            #expect(
                web.program.waitFor(
                    "fluxbus-web: \(hooks)/plain.yaml:4:1: unknown key `hedders` in hook; did you mean `headers`?"
                ))
            #expect(web.program.waitFor("fluxbus-web: The hooks stay as they were."))
            #expect(try check().status == 78)
            try directory.write(
                "hooks/plain.yaml", "hook: other\n\(Self.plain.replacing("file: s", with: "file: \(path)"))\n"
            )
            web.program.signal(SIGHUP)
            let fields = ["X-S": try Self.hmac("{}")]
            var status = 404
            for _ in 0..<1000 where status == 404 {
                status = try web.client().ask("POST", "/hooks/other", fields, body: "{}").status
            }
            #expect(status == 200)
            // What is found at a start is found before it.
            #expect(try check().status == 0)
            for (secret, reason) in [
                ("short", "can be guessed"), ("", "holds 0 secrets"), (nil, "can't be read"),
            ] {
                if let secret { try directory.write("secrets/s", secret) } else { unlink(path) }
                let wrong = try check()
                #expect(wrong.status == 78 && wrong.errors.hasPrefix("fluxbus-web: hook other: "))
                #expect(wrong.errors.contains(reason), "\(wrong.errors)")
            }
            try directory.write("hooks/plain.yaml", "hook: other\ntoken-file: t\n\(Self.plain)\n")
            #expect(try check().errors.contains("leave token-file out."))
        }
    }
}
