import Foundation
import TestFiles
import Testing

/// The load generator with daemons of its own, as a program: what it measures is there, and nothing of it stays behind.
@Suite("The load generator's own daemons") struct BenchTests {
    private let directory = TemporaryDirectory()
    private let daemon = DaemonProcess.executable.path

    /// Starts it with these words, on logs inside the directory.
    private func start(_ words: [String]) throws -> (process: Process, output: Pipe) {
        let process = Process()
        let output = Pipe()
        process.executableURL = DaemonProcess.executable.deletingLastPathComponent().appendingPathComponent(
            "fluxbus-bench")
        process.arguments = words + ["--directory", directory.path, "--duration", "0.05", "--json"]
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return (process, output)
    }

    /// Its lines, once it has ended well.
    private func run(_ words: [String]) throws -> [[String: Any]] {
        let (process, output) = try start(words)
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try left().isEmpty)
        return try String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private func left() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    @Test func startsAreMeasuredFromASnapshotAndByCarryingOutTheLog() throws {
        let lines = try run(["--scenario", "start", "--requests", "3000", "--stores", "10"])
        let names = lines.compactMap { $0["name"] as? String }
        for past in ["3 000 equal commits", "3 000 commits with different payloads"] {
            for figure in [
                "the log of \(past)", "start from a snapshot, \(past)", "start by carrying out \(past)",
            ] {
                #expect(names.contains(figure))
            }
        }
        #expect(names.count == 6)
        #expect(lines.allSatisfy { ($0["value"] as? Double ?? 0) > 0 })
    }

    @Test func durableRunsHaveALogAndCountEveryReply() throws {
        let lines = try run(["--scenario", "durable", "--requests", "500"])
        #expect(
            lines.map { $0["sync"] as? String } == Array(repeating: "always", count: 3)
                + Array(repeating: "interval", count: 3))
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && $0["replies"] as? Int == 500 })
        #expect(lines.allSatisfy { $0["serverCPUSeconds"] is Double })
    }

    /// 30,000 changes make more than one line.
    @Test func eventsInSeveralLinesAreCountedToo() throws {
        let lines = try run([
            "--scenario", "stores", "--stores", "30000", "--requests", "5", "--daemon", daemon,
        ])
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && $0["deliveries"] as? Int == 5 })
    }

    @Test func memoryIsMeasuredOfSubscribersAndStores() throws {
        let lines = try run(["--scenario", "memory", "--subscribers", "30", "--stores", "20000"])
        let bytes = lines.reduce(into: [:]) { $0[$1["name"] as? String ?? ""] = $1["value"] as? Double }
        #expect(bytes.count == 4)
        let created = try #require(bytes["store, of 20 000, as created"])
        let changed = try #require(bytes["store, of 20 000, each changed once"])
        // A store has a name and a state, and one that has changed a state of its own.
        #expect(created > 16)
        #expect(changed > created)
    }

    /// Whoever interrupts it waits for no daemon, and finds neither one nor its files afterwards.
    @Test func interruptionLeavesNothingBehind() throws {
        let (process, output) = try start(["--scenario", "start", "--requests", "100000000"])
        let daemon = try #require(awaitDaemon(of: process))
        process.terminate()
        _ = try output.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        #expect(process.terminationStatus == 128 + SIGTERM)
        #expect(try left().isEmpty)
        #expect(kill(daemon, 0) != 0)
    }

    /// The daemon that it has started, found when it answers on its socket; nil when it has none within ten seconds.
    private func awaitDaemon(of process: Process) -> pid_t? {
        let end = Date(timeIntervalSinceNow: 10)
        while Date() < end {
            let children = "/proc/\(process.processIdentifier)/task/\(process.processIdentifier)/children"
            let text = (try? String(contentsOfFile: children, encoding: .utf8)) ?? ""
            if let place = try? left().first,
                let child = text.split(separator: " ").first.flatMap({ pid_t($0) }),
                (try? Client("unix:\(directory.path)/\(place)/s")) != nil
            {
                return child
            }
            sched_yield()
        }
        return nil
    }
}
