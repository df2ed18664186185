import Dispatch
import Foundation
import TestFiles
import TestServer
import Testing

/// The executable itself: exit codes, signals, descriptors.
struct DaemonTests {
    private let bus: DaemonBus
    private var directory: TemporaryDirectory { bus.directory }
    private var address: String { bus.address }

    init() throws { bus = try DaemonBus() }

    @Test func checkTellsWhetherEverythingIsRight() throws {
        let file = try directory.write(
            "fluxbusd.yaml", "listen: [{ unix: s }]\ntypes: types\nstores: [counter/main]\n")
        let right = try RunningProgram.run("fluxbusd", ["--config", file, "--check"])
        #expect(right.status == 0)
        #expect(right.output.contains("types counter; 1 configured store"))
        #expect(right.errors.isEmpty)
        // Checking opens nothing.
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/s"))

        for (name, text, place) in [
            (
                "fluxbusd.yaml", "listen: [{ unix: s }]\ntypes: types\nstores: [count/main]\n",
                "fluxbusd.yaml:3:10: "
            ),
            (
                "types/counter.yaml", "type: counter\ninitial: {}\nactions: { a: { sett: {} } }\n",
                "counter.yaml:3:17: "
            ),
        ] {
            try directory.write(name, text)
            for arguments in [["--check"], []] {
                let wrong = try RunningProgram.run("fluxbusd", ["--config", file] + arguments)
                #expect(wrong.status == 78)
                #expect(wrong.errors.contains(place), "\(wrong.errors)")
                #expect(wrong.output.isEmpty)
            }
            try directory.write("fluxbusd.yaml", "listen: [{ unix: s }]\ntypes: types\n")
        }
    }

    /// What is allowed and probably not meant is remarked upon, which is no mistake.
    @Test func checkRemarksUponRulesThatAreNoMistake() throws {
        let file = try directory.write(
            "fluxbusd.yaml",
            """
            listen: [{ unix: s }]
            types: types
            access:
              roles: { admin: [{ user: root }] }
              rules:
                - { role: admin, may: all }
                - { role: admin, may: all, match: counter/* }
            """)
        let checked = try RunningProgram.run("fluxbusd", ["--config", file, "--check"])
        #expect(checked.status == 0)
        #expect(checked.errors.contains("fluxbusd.yaml:7: all is about some stores only here"))
        #expect(checked.errors.split(separator: "\n").count == 1)
    }

    @Test func variablesAreReadAndOverridden() throws {
        let environment = ["FLUXBUS_LISTEN": address, "FLUXBUS_TYPES": "\(directory.path)/types"]
        let right = try RunningProgram.run("fluxbusd", ["--check"], environment: environment)
        #expect(right.status == 0)
        #expect(right.output.contains(address))
        let overridden = try RunningProgram.run(
            "fluxbusd",
            ["--check", "--listen", "unix:/run/flag"], environment: environment)
        #expect(overridden.output.contains("unix:/run/flag"))
        let wrong = try RunningProgram.run(
            "fluxbusd",
            ["--check"], environment: environment.merging(["FLUXBUS_LOG_LEVEL": "inf"]) { $1 })
        #expect(wrong.status == 78)
        #expect(wrong.errors.contains("did you mean `info`?"))
    }

    @Test func theCommandLineTellsItsVersionAndItsMistakes() throws {
        #expect(try RunningProgram.run("fluxbusd", ["--version"]).status == 0)
        let help = try RunningProgram.run("fluxbusd", ["--help"])
        #expect(help.status == 0)
        for words in ["FLUXBUS_LISTEN", "EXIT CODES", "--check", "SIGHUP"] {
            #expect(help.output.contains(words))
        }
        #expect(try RunningProgram.run("fluxbusd", ["--liste", "x"]).status == 64)
    }

    /// Most of what a start takes is code that runs once.
    @Test func anIdleDaemonGivesBackWhatItsStartTook() throws {
        let daemon = try bus.start()
        let status = try String(contentsOfFile: "/proc/\(daemon.process)/status", encoding: .utf8)
        let peak = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) })
        let resident = try #require(status.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap { Int($0.1) })
        #expect(resident < peak * 3 / 4, "\(resident) of \(peak) kB are left.")
        // What is needed again comes back.
        #expect(try bus.client().ask(#"{"op":"ping"}"#).contains("true"))
        #expect(try bus.stop(daemon) == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalEndsItInOrder(number: Int32) throws {
        let daemon = try bus.start()
        let client = try bus.client()
        _ = try client.ask(#"{"op":"ping"}"#)
        daemon.signal(number)
        let lines = try client.rest()
        #expect(lines.first?.contains(#""code":"shutdown""#) == true)
        #expect(try daemon.wait().status == 0)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/s"))
    }

    /// However late the daemon gets to both: it is stopped while they come, the end first.
    @Test(arguments: [[SIGTERM, SIGUSR1], [SIGUSR1, SIGTERM]])
    func anAnnouncedRestartIsHeardBeforeItsEnd(numbers: [Int32]) throws {
        let daemon = try bus.start()
        let client = try bus.client()
        _ = try client.ask(#"{"op":"ping"}"#)
        daemon.signal(SIGSTOP)
        var stopped = siginfo_t()
        try #require(waitid(P_PID, id_t(daemon.process), &stopped, WSTOPPED | WNOWAIT) == 0)
        for number in numbers + [SIGCONT] { daemon.signal(number) }
        let lines = try client.rest()
        #expect(lines.first?.contains(#""code":"restart""#) == true, "\(lines)")
        #expect(try daemon.wait().status == 0)
    }

    @Test func hangUpReadsTheTypesAnew() throws {
        let daemon = try bus.start()
        try directory.write("types/door.yaml", "type: door\ninitial: { open: false }\n")
        daemon.signal(SIGHUP)
        #expect(daemon.waitFor("were reloaded"))
        #expect(try bus.client().ask(#"{"op":"create","store":"door/front"}"#).contains("\"ok\":true"))
        try directory.write("types/door.yaml", "type: door\ninital: {}\n")
        daemon.signal(SIGHUP)
        #expect(daemon.waitFor("door.yaml:2:1"))
        #expect(try bus.client().ask(#"{"op":"create","store":"door/back"}"#).contains("\"ok\":true"))
        // More mistakes than a client may have in the log.
        for number in 10..<24 { try directory.write("types/wrong\(number).yaml", "typ: wrong\n") }
        daemon.signal(SIGHUP)
        for number in 10..<24 { #expect(daemon.waitFor("wrong\(number).yaml")) }
    }

    /// Each mistake is a line of the reply's message and an entry of the log.
    @Test func aRefusedReloadNamesAllMistakes() throws {
        let daemon = try bus.start()
        try directory.write(
            "types/door.yaml",
            "type: door\ninitial: { open: false }\nactions: { a: { when: true, toggle: [opn] } }\n")
        try directory.write("types/lamp.yaml", "type: lamp\nstate: { on: bool }\n")
        let reply = try bus.client().ask(#"{"op":"reload"}"#)
        #expect(reply.contains("\"ok\":false") && reply.contains("\"code\":\"rejected\""), "\(reply)")
        for mistake in [
            "door.yaml:3:23: This condition", "door.yaml:3:38: opn is", "lamp.yaml:2:14: bool is",
        ] {
            #expect(reply.contains(mistake), "\(reply)")
            #expect(daemon.waitFor(mistake))
        }
        #expect(reply.components(separatedBy: "\\n").count == 3)
        try directory.write("types/door.yaml", "type: door\ninitial: { open: false }\n")
        try directory.write(
            "types/lamp.yaml", "type: lamp\nstate: { on: { type: boolean, default: true } }\n")
        #expect(try bus.client().ask(#"{"op":"reload"}"#).contains("\"ok\":true"))
        #expect(try bus.client().ask(#"{"op":"create","store":"lamp/a"}"#).contains("\"ok\":true"))
    }

    @Test func aSecondDaemonLeavesTheFirstAlone() throws {
        let daemon = try bus.start()
        let second = try RunningProgram.run("fluxbusd", ["--listen", address])
        #expect(second.status == 75)
        #expect(try bus.client().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    /// Accepting has its share of every turn, and no more: those who are there are answered in between, and newcomers are taken
    /// in between their requests.
    @Test func acceptingAndAnsweringTakeTurns() throws {
        let daemon = try bus.start(["--limit", "connections=100000", "--log-level", "critical"])
        let client = try bus.client()
        _ = try client.ask(#"{"op":"ping"}"#)
        let (newcomers, requests) = (1000, 1000)
        // All of it waits for the daemon at once.
        daemon.signal(SIGSTOP)
        let others = try (0..<newcomers).map { _ in try LineClient(address) }
        try client.send(bytes: String(repeating: #"{"op":"stats"}"# + "\n", count: requests))
        daemon.signal(SIGCONT)
        let counts = try (0..<requests).map { _ in
            let line = try #require(try client.line())
            return try #require(LineClient.integer("connections", in: line))
        }
        #expect(counts == counts.sorted())
        // All at once, or all before or after the requests, would be two numbers at most.
        #expect(Set(counts).count > 4, "\(Set(counts).sorted())")
        #expect(counts.last.map { $0 > counts[0] } == true)
        for other in others { other.close() }
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    @Test func clientsThatVanishLeakNothing() throws {
        let daemon = try bus.start(["--limit", "connections=100000", "--log-level", "critical"])
        let observer = try bus.client()
        _ = try observer.ask(#"{"op":"ping"}"#)
        let before = try daemon.descriptorCount(includingTimers: false)
        let address = address
        let perThread = 1500
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<perThread {
                guard let client = try? LineClient(address) else { continue }
                switch (thread + number) % 4 {
                case 0: break
                case 1: try? client.send(bytes: #"{"op":"pi"#)
                case 2:
                    try? client.send(
                        bytes:
                            #"{"op":"ping"}"# + "\n" + #"{"op":"subscribe","type":"counter"}"# + "\n")
                default: client.finishSending()
                }
                client.close()
            }
        }
        // Every round trip lets the daemon see more ends; it has seen all when only the observer is left.
        var stats = ""
        let end = ContinuousClock.now + .seconds(60)
        repeat {
            stats = try observer.ask(#"{"op":"stats"}"#)
            if stats.contains("\"connections\":1,\"epoch\"") { break }
        } while .now < end
        #expect(stats.contains("\"connections\":1,\"epoch\""), "\(stats)")
        #expect(stats.contains("\"connections\":\(4 * perThread + 1),"), "\(stats)")
        #expect(try daemon.descriptorCount(includingTimers: false) == before)
    }

    @Test func aLackOfDescriptorsIsToldAndSurvived() throws {
        let daemon = try bus.start(["--log-level", "critical"])
        let first = try bus.client()
        _ = try first.ask(#"{"op":"ping"}"#)
        func timers() throws -> Int {
            try daemon.descriptorCount() - daemon.descriptorCount(includingTimers: false)
        }
        let timersBefore = try timers()
        // Room for three more.
        let limit = try daemon.descriptorCount() + 3
        let words = ["/usr/bin/prlimit", "--pid", "\(daemon.process)"]
        try #require(try RunningProgram(words + ["--nofile=\(limit):\(limit)"]).wait().status == 0)

        func ping() throws -> (LineClient, String) {
            let client = try bus.client()
            try? client.send(#"{"op":"ping"}"#)
            return (client, try #require(try client.line()))
        }
        var served: [LineClient] = []
        var refused = 0
        for _ in 0..<10 {
            let (client, line) = try ping()
            if line.contains("goodbye") {
                #expect(line.contains(#""code":"limit""#))
                refused += 1
            } else {
                served.append(client)
            }
        }
        #expect(refused >= 5 && !served.isEmpty, "\(served.count) served, \(refused) refused")
        var replies: [String] = []
        // The daemon's timer, which is made when it first has nothing to do, may take one place of the three.
        while replies.count < 2, replies.last != #"{"ok":true}"#, let client = served.popLast() {
            // Closing it does not end it while another test starts a program, which has all descriptors for a moment.
            client.finishSending()
            #expect(try client.rest().isEmpty)
            replies.append(try ping().1)
        }
        #expect(replies.last == #"{"ok":true}"#, "\(replies)")
        #expect(try replies.count == 1 || timers() > timersBefore, "\(replies)")
    }
}
