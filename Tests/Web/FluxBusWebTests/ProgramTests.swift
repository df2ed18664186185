import Foundation
import Glibc
import TestFiles
import TestServer
import Testing

@Suite("The program")
struct ProgramTests {
    @Test func itPrintsOneLineAndNoTokenElsewhere() async throws {
        try await onThread {
            let web = try ProgramFixture()
            #expect(web.link.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{64}/) != nil)
            let token = web.token
            for file in ["cmdline", "environ", "comm"] {
                let path = "/proc/\(web.program.process)/\(file)"
                let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
                #expect(!text.contains(token))
            }
            let own = ["Origin": "http://\(web.host)"]
            _ = try web.client().ask("POST", "/session", own, body: token + "x")
            let cookie = try web.signIn()
            _ = try web.client().ask("POST", "/session", own, body: token)
            _ = try web.client().ask("GET", "/?token=\(token)", ["Cookie": cookie])
            web.program.signal(SIGTERM)
            let outcome = try web.program.wait()
            #expect(outcome.status == 0 && outcome.errors == "")
            #expect(outcome.output == web.link + "\n")
            let key = try Data(
                contentsOf: URL(fileURLWithPath: "\(web.directory.path)/state/fluxbus/web-session.key"))
            #expect(key.count == 32 && !String(decoding: key, as: UTF8.self).contains(token))
        }
    }

    @Test func itEndsInOrderAndLeavesNothing() async throws {
        try await onThread {
            let web = try ProgramFixture()
            let cookie = try web.signIn()
            let sockets = try (0..<4).map { _ in try web.webSocket(cookie) }
            for socket in sockets { #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#) }
            // Even a crash would leave nothing.
            #expect(try web.leftOver() == [])
            // One that says nothing keeps nobody.
            let silent = try web.client()
            let begin = ContinuousClock.now
            web.program.signal(SIGTERM)
            for socket in sockets.dropFirst() { #expect(try socket.end().close.code == 1001) }
            #expect(try web.program.wait().status == 0)
            #expect(ContinuousClock.now - begin < .seconds(10))
            #expect(try silent.rest().isEmpty)
            #expect(try web.leftOver() == [])
            try web.restart()
            #expect(try web.webSocket(cookie).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        }
    }

    @Test func whatIsWrongIsSaidInASentence() async throws {
        try await onThread {
            let directory = TemporaryDirectory()
            let taken = try Sockets.listen(at: "tcp:127.0.0.1:0")
            defer { close(taken) }
            let secret = try directory.write("open", "0123456789abcdef", mode: 0o644)
            let short = try directory.write("short", "0123")
            // Nobody writes into it, so whoever waits for its end waits for ever.
            let pipe = "\(directory.path)/pipe"
            try #require(mkfifo(pipe, 0o600) == 0)
            let address = ["--address", "unix:/nonexistent/bus.sock"]
            let cases: [(Int32, [String], String)] = [
                (75, ["--listen", "127.0.0.1:\(Sockets.port(of: taken))"], "is in use"),
                (78, ["--listen", "0.0.0.0:0"], "without TLS"), (78, ["--listen", "[::]:0"], "without TLS"),
                (78, ["--listen", "bus.home:80"], "is not an address to listen on"),
                (
                    78, ["--listen", "127.0.0.1:0", "--tls-certificate", "/no", "--tls-key", "/no"],
                    "/no can't be read"
                ),
                (78, ["--listen", "systemd:web"], "systemd passed no socket"),
                (78, ["--metrics-token-file", secret], "chmod"),
                (78, ["--metrics-token-file", short], "guessed"),
                (78, ["--metrics-token-file", pipe], "\(pipe) is not a regular file; give another one."),
                (
                    78, ["--listen", "127.0.0.1:0", "--tls-certificate", pipe, "--tls-key", "/no"],
                    "\(pipe) is not a regular file; give another one."
                ),
                (78, ["--address", "x:"], "is not an address of a bus"),
                (64, ["--tls-key", "x"], "go together"), (64, ["--idle-exit", "0"], "minutes"),
                (64, ["--host", "http://x"], "a name alone"),
                (64, ["--origin", "app.example.org"], "is not the origin of a page"),
                (64, ["--nonsense"], "nonsense"),
            ]
            for (status, arguments, text) in cases {
                let outcome = try RunningProgram.run(
                    "fluxbus-web", address + arguments,
                    environment: ["HOME": directory.path, "TMPDIR": directory.path])
                #expect(outcome.status == status && outcome.output == "", "\(arguments)")
                #expect(outcome.errors.contains(text), "\(outcome.errors)")
            }
            let nowhere = try RunningProgram.run("fluxbus-web", address)
            #expect(nowhere.status == 78 && nowhere.errors.contains("STATE_DIRECTORY"))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
                    "open", "pipe", "short",
                ])
        }
    }

    /// A rule of a firewall, or of a sandbox, may forbid it.
    @Test(.enabled(if: TestClock.isPossible, "\(TestClock.isMissing)"))
    func strangersAreNotToldWhichBusItMayNotConnectTo() async throws {
        try await onThread {
            let directory = TemporaryDirectory()
            let source = try directory.write(
                "refuse.c",
                """
                #include <errno.h>
                #include <sys/socket.h>
                #include <sys/syscall.h>
                #include <unistd.h>

                int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
                    errno = EPERM;
                    return address->sa_family == AF_INET ? -1 : (int)syscall(SYS_connect, descriptor, address, length);
                }
                """)
            let library = "\(directory.path)/refuse.so"
            let compiler = ["/usr/bin/cc", "-shared", "-fPIC", "-o", library, source]
            try #require(
                try RunningProgram(compiler, environment: ["PATH": "/usr/bin:/bin"]).wait().status == 0)
            let program = try RunningProgram(
                "fluxbus-web", ["--address", "tcp:127.0.0.1:9", "--listen", "127.0.0.1:0"],
                environment: ["LD_PRELOAD": library, "TMPDIR": directory.path])
            let line = try #require(program.nextLine())
            let host = try #require(line.split(separator: "/").dropFirst().first.map(String.init))
            let client = { () throws in try WebClient("tcp:\(host)", host: host) }
            let bearer = ["Authorization": "Bearer a-program-of-this-house"]
            for path in ["/metrics", "/v1/stores", "/healthz"] {
                let answer = try client().ask("GET", path, bearer)
                #expect(answer.status == 503 && answer.text.contains("The bus does not answer."), "\(path)")
            }
            let browser = try client()
            #expect(try browser.upgrade([:]).status == 101)
            #expect(try WebSocketClient(browser).end().close.reason == "The bus does not answer.")
            program.signal(SIGTERM)
            #expect(try program.wait().status == 0)
        }
    }

    @Test func helpNamesEveryOption() throws {
        let outcome = try RunningProgram.run("fluxbus-web", ["--help"])
        #expect(outcome.status == 0)
        for option in [
            "--listen", "--address", "--ca", "--certificate", "--certificate-key", "--token-file",
            "--tls-certificate",
            "--tls-key", "--host", "--origin", "--metrics-token-file", "--hooks", "--idle-exit",
        ] { #expect(outcome.output.contains("  \(option) <")) }
    }

    /// The tokens that open the link must not be in the journal, for whoever may read that.
    @Test func theJournalGetsNoToken() async throws {
        try await onThread {
            let bus = try LiveBus()
            let directory = TemporaryDirectory()
            let output = try directory.write("output", "")
            var status = stat()
            #expect(stat(output, &status) == 0)
            let program = try RunningProgram(
                [
                    "/bin/sh", "-c", #"exec "$0" --address "$1" --listen 127.0.0.1:0 >"$2""#,
                    RunningProgram.path(of: "fluxbus-web"), bus.address, output,
                ],
                environment: [
                    "HOME": directory.path, "TMPDIR": directory.path,
                    "JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)",
                ])
            #expect(program.waitFor("is not written to the journal"))
            program.signal(SIGTERM)
            #expect(try program.wait().status == 0)
            let text = try String(contentsOfFile: output, encoding: .utf8)
            #expect(text.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/\n/) != nil)
        }
    }
}
