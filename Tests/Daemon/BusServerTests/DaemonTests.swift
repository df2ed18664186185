import Dispatch
import Foundation
import TestFiles
import Testing

/// The executable itself: exit codes, signals, descriptors.
struct DaemonTests {
    private let directory = TemporaryDirectory()

    private var address: String { "unix:\(directory.path)/s" }

    private func start(_ more: [String] = []) throws -> DaemonProcess {
        try directory.writeCounter()
        let daemon = try DaemonProcess(
            ["--listen", address, "--types", "\(directory.path)/types", "--store", "counter/main"] + more)
        guard daemon.waitFor("listening on") else {
            throw Client.Failure(description: try daemon.wait().errors)
        }
        return daemon
    }

    @Test func checkTellsWhetherEverythingIsRight() throws {
        try directory.writeCounter()
        let file = try directory.write(
            "fluxbusd.yaml", "listen: [{ unix: s }]\ntypes: types\nstores: [counter/main]\n")
        let right = try DaemonProcess.run(["--config", file, "--check"])
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
                let wrong = try DaemonProcess.run(["--config", file] + arguments)
                #expect(wrong.status == 78)
                #expect(wrong.errors.contains(place), "\(wrong.errors)")
                #expect(wrong.output.isEmpty)
            }
            try directory.write("fluxbusd.yaml", "listen: [{ unix: s }]\ntypes: types\n")
        }
    }

    @Test func variablesAreReadAndOverridden() throws {
        try directory.writeCounter()
        let environment = ["FLUXBUS_LISTEN": address, "FLUXBUS_TYPES": "\(directory.path)/types"]
        let right = try DaemonProcess.run(["--check"], environment: environment)
        #expect(right.status == 0)
        #expect(right.output.contains(address))
        let overridden = try DaemonProcess.run(
            ["--check", "--listen", "unix:/run/flag"], environment: environment)
        #expect(overridden.output.contains("unix:/run/flag"))
        let wrong = try DaemonProcess.run(
            ["--check"], environment: environment.merging(["FLUXBUS_LOG_LEVEL": "inf"]) { $1 })
        #expect(wrong.status == 78)
        #expect(wrong.errors.contains("did you mean info?"))
    }

    @Test func theCommandLineTellsItsVersionAndItsMistakes() throws {
        #expect(try DaemonProcess.run(["--version"]).status == 0)
        let help = try DaemonProcess.run(["--help"])
        #expect(help.status == 0)
        for words in ["FLUXBUS_LISTEN", "EXIT CODES", "--check", "SIGHUP"] {
            #expect(help.output.contains(words))
        }
        #expect(try DaemonProcess.run(["--liste", "x"]).status == 64)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalEndsItInOrder(number: Int32) throws {
        let daemon = try start()
        let client = try Client(address)
        _ = try client.ask(#"{"op":"ping"}"#)
        daemon.signal(number)
        let lines = try client.rest()
        #expect(lines.first?.contains(#""code":"shutdown""#) == true)
        #expect(try daemon.wait().status == 0)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/s"))
    }

    @Test func hangUpReadsTheTypesAnew() throws {
        let daemon = try start()
        try directory.write("types/door.yaml", "type: door\ninitial: { open: false }\n")
        daemon.signal(SIGHUP)
        #expect(daemon.waitFor("were reloaded"))
        #expect(try Client(address).ask(#"{"op":"create","store":"door/front"}"#).contains("\"ok\":true"))
        try directory.write("types/door.yaml", "type: door\ninital: {}\n")
        daemon.signal(SIGHUP)
        #expect(daemon.waitFor("door.yaml:2:1"))
        #expect(try Client(address).ask(#"{"op":"create","store":"door/back"}"#).contains("\"ok\":true"))
    }

    @Test func aSecondDaemonLeavesTheFirstAlone() throws {
        let daemon = try start()
        let second = try DaemonProcess.run(["--listen", address])
        #expect(second.status == 75)
        #expect(try Client(address).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    @Test func clientsThatVanishLeakNothing() throws {
        let daemon = try start(["--limit", "connections=100000", "--log-level", "critical"])
        let observer = try Client(address)
        _ = try observer.ask(#"{"op":"ping"}"#)
        let before = try daemon.descriptorCount()
        let address = address
        let perThread = 1500
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<perThread {
                guard let client = try? Client(address) else { continue }
                switch (thread + number) % 4 {
                case 0: break
                case 1: try? client.send(#"{"op":"pi"#)
                case 2:
                    try? client.send(
                        #"{"op":"ping"}"# + "\n" + #"{"op":"subscribe","type":"counter"}"# + "\n")
                default: client.finishSending()
                }
                client.close()
            }
        }
        // Every round trip lets the daemon see more ends; it has seen all when only the observer is left.
        var stats = ""
        for _ in 0..<10_000 {
            stats = try observer.ask(#"{"op":"stats"}"#)
            if stats.contains("\"connections\":1,\"epoch\"") { break }
        }
        #expect(stats.contains("\"connections\":1,\"epoch\""), "\(stats)")
        #expect(stats.contains("\"connections\":\(4 * perThread + 1),"), "\(stats)")
        #expect(try daemon.descriptorCount() == before)
    }

    @Test func aLackOfDescriptorsIsToldAndSurvived() throws {
        let daemon = try start(["--log-level", "critical"])
        let first = try Client(address)
        _ = try first.ask(#"{"op":"ping"}"#)
        // Room for three more.
        let limit = try daemon.descriptorCount() + 3
        let tool = Process()
        tool.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
        tool.arguments = ["--pid", "\(daemon.process.processIdentifier)", "--nofile=\(limit):\(limit)"]
        try tool.run()
        tool.waitUntilExit()
        try #require(tool.terminationStatus == 0)

        var served: [Client] = []
        var refused = 0
        for _ in 0..<10 {
            let client = try Client(address)
            try? client.send(#"{"op":"ping"}"# + "\n")
            let line = try #require(try client.line())
            if line.contains("goodbye") {
                #expect(line.contains(#""code":"limit""#))
                refused += 1
            } else {
                served.append(client)
            }
        }
        #expect(refused >= 5 && !served.isEmpty, "\(served.count) served, \(refused) refused")
        served.removeLast().close()
        // Its end was seen before this reply or is seen before the next connection is taken.
        _ = try first.ask(#"{"op":"ping"}"#)
        #expect(try Client(address).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
    }
}
