import CLinux
import Dispatch
import Foundation
import Synchronization
import TestServer
import Testing

/// The daemon is killed again and again under load. Clients that resend with a key and `after` lose nothing, and nothing is
/// done twice; the history goes on in the same epoch.
@Suite(.timeLimit(.minutes(10))) struct KillTests {
    /// The revision at which the running daemon started, shared between threads.
    final class KnownRevision: Sendable {
        let value = Atomic<Int>(5)
    }

    /// One client on a thread: a window of keyed increments of its own store, sent again after each lost connection.
    final class Sender: Sendable {
        struct Report: Sendable {
            var acknowledged = 0
            var duplicates = 0
            var connections = 0
            /// The highest revision that was acknowledged.
            var revision = 0
            var problems: [String] = []
        }
        let number: Int
        private let address: String
        private let window: Int
        private let report = Mutex(Report())
        private let isFinishing = Atomic<Bool>(false)
        private let done = DispatchSemaphore(value: 0)
        /// Signalled for each new commit that the running daemon acknowledges.
        private let progress: DispatchSemaphore
        /// The revision at which the running daemon started.
        private let known: KnownRevision
        /// Signalled when a daemon listens again.
        let comesBack = DispatchSemaphore(value: 0)

        init(
            _ number: Int, _ address: String, window: Int, _ progress: DispatchSemaphore,
            _ known: KnownRevision
        ) {
            (self.number, self.address, self.window) = (number, address, window)
            (self.progress, self.known) = (progress, known)
            Thread.detachNewThread { [self] in
                run()
                done.signal()
            }
        }

        func finish() -> Report? {
            isFinishing.store(true, ordering: .relaxed)
            comesBack.signal()
            guard done.wait(timeout: .now() + 60) == .success else { return nil }
            return report.withLock { $0 }
        }

        private func note(_ problem: String) {
            report.withLock { $0.problems.append("\(number): \(problem)") }
        }

        private func run() {
            var epoch: String?
            var seen = 0
            var next = 0
            var open: [(number: Int, line: String)] = []
            while true {
                guard let client = try? LineClient(address) else {
                    comesBack.wait()
                    continue
                }
                do {
                    report.withLock { $0.connections += 1 }
                    let now = try client.epoch()
                    if let epoch, epoch != now { note("The epoch was \(epoch) and is \(now).") }
                    epoch = now
                    for request in open { try client.send(bytes: request.line) }
                    while true {
                        let finishing = isFinishing.load(ordering: .relaxed)
                        if finishing, open.isEmpty { return }
                        while !finishing, open.count < window {
                            next += 1
                            let line =
                                #"{"id":\#(next),"op":"dispatch","store":"counter/c\#(number)","action":"increment","#
                                + #""key":"\#(number)-\#(next)","after":\#(seen),"epoch":"\#(now)"}"# + "\n"
                            open.append((next, line))
                            try client.send(bytes: line)
                        }
                        guard let line = try client.line() else { break }
                        // A daemon that shuts down sends a goodbye first. These are killed, so each line is a reply.
                        guard take(line, of: open[0].number, &seen) else { return }
                        open.removeFirst()
                    }
                } catch {
                    // The connection is lost; the open requests are sent again.
                }
                client.close()
                comesBack.wait()
            }
        }

        /// Checks the reply to the oldest open request and records it; false if it is not an acknowledgement of that request.
        private func take(_ line: String, of number: Int, _ seen: inout Int) -> Bool {
            guard line.hasPrefix(#"{"id":\#(number),"ok":true,"#), line.contains(#""changed":1"#),
                let revision = LineClient.integer("revision", in: line)
            else {
                note("\(number) was answered \(line)")
                return false
            }
            if revision <= seen { note("Revision \(revision) came after \(seen).") }
            seen = revision
            let isDuplicate = line.contains("duplicate")
            report.withLock { report in
                report.acknowledged += 1
                if isDuplicate { report.duplicates += 1 }
                report.revision = revision
            }
            // A reply from an earlier daemon does not show what this one has committed.
            if !isDuplicate, revision > known.value.load(ordering: .relaxed) { progress.signal() }
            return true
        }

        /// The highest revision that was acknowledged so far.
        var acknowledgedRevision: Int { report.withLock { $0.revision } }
        var duplicatesSoFar: Int { report.withLock { $0.duplicates } }
    }

    @Test(arguments: [("always", 16), ("interval", 10), ("never", 10)])
    func nothingIsLostOrDoneTwice(sync: String, kills: Int) throws {
        let bus = try DaemonBus.logged()
        let progress = DispatchSemaphore(value: 0)
        let known = KnownRevision()
        var daemon = try bus.start(["--sync", sync, "--log-level", "error"])
        let setup = try bus.client()
        let epoch = try setup.epoch()
        for number in 0..<4 { _ = try setup.ask(#"{"op":"create","store":"counter/c\#(number)"}"#) }
        let senders = (0..<4).map { Sender($0, bus.address, window: [1, 4, 16, 64][$0], progress, known) }

        var lastRevision = 5
        var round = 0
        // Keys are for replies that are lost after their commits reached the disk, so the rounds go on until there were some.
        while round < kills || round < 10 * kills && senders.allSatisfy({ $0.duplicatesSoFar == 0 }) {
            defer { round += 1 }
            // Some new commits between any two kills, each time a different number.
            while progress.wait(timeout: .now()) == .success {}
            for _ in 0..<(20 + round * 37 % 200) {
                try #require(progress.wait(timeout: .now() + 30) == .success)
            }
            daemon.signal(SIGKILL)
            _ = try daemon.wait()
            let acknowledged = senders.map(\.acknowledgedRevision).max() ?? 0
            if round % 4 == 3 {
                // Another daemon is killed at any point of its start.
                let unlucky = try RunningProgram("fluxbusd", bus.arguments(["--sync", sync]))
                if round % 8 == 3 { _ = unlucky.waitFor("fluxbusd") }
                unlucky.signal(SIGKILL)
                _ = try unlucky.wait()
            }
            daemon = try bus.start(["--sync", sync, "--log-level", "error"])
            let client = try bus.client()
            #expect(try client.epoch() == epoch)
            let revision = LineClient.integer("revision", in: try client.ask(#"{"op":"sync"}"#)) ?? 0
            #expect(revision > lastRevision)
            #expect(revision >= acknowledged)
            lastRevision = revision
            known.value.store(revision, ordering: .relaxed)
            for sender in senders { sender.comesBack.signal() }
        }

        var total = 0
        var duplicates = 0
        for sender in senders {
            let report = try #require(sender.finish())
            #expect(report.problems == [])
            // Each sender saw most of the kills; two in quick succession may look like one.
            #expect(report.connections > round / 2)
            let state = try bus.client().ask(#"{"op":"get","store":"counter/c\#(sender.number)"}"#)
            #expect(LineClient.integer("count", in: state) == report.acknowledged, "\(state)")
            total += report.acknowledged
            duplicates += report.duplicates
        }
        #expect(duplicates > 0)
        // Besides the five commits that made counter/main and c0 to c3, every commit is an acknowledged increment.
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":\#(total + 5)}"#)
        #expect(try bus.stop(daemon) == 0)
        let verified = try bus.verify()
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(verified.output.contains("revision \(total + 5): 5 stores"))
    }
}
