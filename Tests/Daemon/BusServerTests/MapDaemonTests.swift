import BusJSON
import BusMap
import BusSystem
import CLinux
import CMap
import Dispatch
import Glibc
import Synchronization
import TestFiles
import TestServer
import Testing

/// Maps of a real daemon: the file that a reply brings, and programs that read it while the daemon writes, is killed and comes back.
@Suite(.timeLimit(.minutes(10))) struct MapDaemonTests {
    @Test func replyBringsAFileThatFollows() throws {
        let bus = try LiveBus()
        let (client, other) = (try bus.client(), try bus.client())
        let map = try client.reader(of: "counter")
        #expect(map.state(of: "main").state?["count"] == 0)
        for count in 1...100 {
            let reply = try other.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            // Whoever has the reply finds in the map what it tells of.
            let (answer, state) = map.state(of: "main")
            #expect(state?["count"]?.int == count)
            guard case .state(_, let revision) = answer else { Issue.record("\(answer)"); return }
            #expect(reply.contains("\"revision\":\(revision),"))
        }
        _ = try other.ask(#"{"op":"drop","store":"counter/main"}"#)
        #expect(map.state(of: "main").answer == .none)
    }

    /// Requests before and behind it, on the same connection, and readers who let all of that wait: each file comes with its reply.
    @Test func fileComesWithItsReplyAndNoOther() throws {
        let bus = try LiveBus(types: ["note": "type: note\ninitial: { text: '' }\n"])
        let client = try bus.client()
        let requests = (0..<400).map { number in
            let type = number % 3 == 0 ? "counter" : "note"
            return number % 4 == 3
                ? #"{"op":"map","id":\#(number),"type":"\#(type)"}"# : #"{"op":"types","id":\#(number)}"#
        }
        try client.send(bytes: requests.joined(separator: "\n") + "\n")
        var (text, files) = ("", [(first: Int, end: Int, file: Int32)]())
        while text.count(where: { $0 == "\n" }) < requests.count {
            var room = [Int32](repeating: -1, count: Int(linux_descriptors_per_message))
            var buffer = [UInt8](repeating: 0, count: 1000)
            var (count, cut): (Int, Int32) = (0, 0)
            let received = linux_receive_message(
                client.descriptor, &buffer, buffer.count, &room, &count, &cut, 0)
            try #require(received > 0 && cut == 0 && count <= 1)
            let first = text.utf8.count
            text += String(decoding: buffer[..<received], as: UTF8.self)
            if count == 1 { files.append((first, first + received, room[0])) }
        }
        defer { for file in files { close(file.file) } }
        #expect(files.count == 100)
        var (place, next) = (0, 0)
        for (number, line) in text.split(separator: "\n").enumerated() {
            defer { place += line.utf8.count + 1 }
            #expect(line.hasPrefix(#"{"id":\#(number),"ok":true"#))
            guard number % 4 == 3 else { continue }
            // It comes with the read that has the first byte of its reply.
            #expect(files[next].first <= place && place < files[next].end)
            let map = try MapReader(files[next].file)
            #expect((map.state(of: "main").answer == .none) == (number % 3 != 0), "\(number)")
            next += 1
        }
    }

    @Test func readerCanNeitherWriteNorCutNorGrowTheFile() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        let (_, found) = try client.map("counter")
        let file = try #require(found)
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        let again = open("/proc/self/fd/\(file)", O_RDWR)
        defer { if again >= 0 { close(again) } }
        for file in [file, again] where file >= 0 {
            #expect(pwrite(file, "x", 1, 0) == -1)
            #expect(ftruncate(file, 0) == -1 && ftruncate(file, size * 2) == -1)
            #expect(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED)
        }
        let map = try MapReader(file)
        _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        #expect(map.state(of: "main").state?["count"] == 1)
    }

    @Test func mapThatGrowsIsFollowedByAnother() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        var map = try client.reader(of: "counter")
        var maps = 1
        for number in 0..<3000 {
            _ = try client.ask(#"{"op":"create","store":"counter/s\#(number)"}"#)
            if map.state(of: "s\(number)").answer == .moved {
                map = try client.reader(of: "counter")
                maps += 1
            }
            #expect(map.state(of: "s\(number)").state?["count"] == 0)
        }
        #expect(maps == 3)
        for number in 0..<3000 { #expect(map.state(of: "s\(number)").state?["count"] == 0) }
        bus.stop()
        #expect([.ended, .moved].contains(map.state(of: "s1").answer))
    }

    /// Reads until it is stopped, and counts what no reader may see: a state that is none, and one before another.
    private final class Reading: Sendable {
        struct Report {
            var reads = 0
            var torn = 0
            var backward = 0
            var changes = 0
            var highest = 0
        }
        private let report = Mutex(Report())
        private let changes = Atomic(0)
        private let isStopped = Atomic(false)
        private let done = DispatchSemaphore(value: 0)

        /// - Parameter least: What was there before.
        init(_ map: MapReader, least: Int) throws {
            try SystemThread.start(named: "map reader") { [self] in
                var (found, last) = (Report(), (count: least, revision: UInt64(0)))
                while !isStopped.load(ordering: .relaxed) {
                    let (answer, state) = map.state(of: "main")
                    guard case .state(_, let revision) = answer else { continue }
                    found.reads += 1
                    guard let count = state?["count"]?.int else {
                        found.torn += 1
                        continue
                    }
                    if count < last.count || revision < last.revision { found.backward += 1 }
                    if revision != last.revision {
                        found.changes += 1
                        changes.store(found.changes, ordering: .relaxed)
                    }
                    last = (count, revision)
                }
                found.highest = last.count
                report.withLock { $0 = found }
                done.signal()
            }
        }

        /// Whether it has been quick enough, on a machine that does other things as well, to say something of the map.
        var hasSeenMany: Bool { changes.load(ordering: .relaxed) > 20 }

        func stop() -> Report {
            isStopped.store(true, ordering: .relaxed)
            done.wait()
            return report.withLock { $0 }
        }
    }

    /// The daemon has a log and is killed under load, again and again. What was seen in a map is what the next daemon has, too.
    @Test func readersSeeNothingTornBackwardOrLostOverKills() throws {
        let place = try DaemonBus(hasLog: true)
        var least = 0
        for round in 0..<5 {
            let daemon = try place.start(["--sync", "always"])
            let client = try place.client()
            let map = try client.reader(of: "counter")
            let reading = try Reading(map, least: least)
            let sender = try LineClient(place.address, isResetAnEnd: true)
            let line = #"{"op":"dispatch","store":"counter/main","action":"increment"}"# + "\n"
            var groups = 0
            while groups < 50 || !reading.hasSeenMany && groups < 10_000 {
                groups += 1
                try sender.send(bytes: String(repeating: line, count: 64))
                for _ in 0..<64 { _ = try sender.line() }
            }
            try sender.send(bytes: String(repeating: line, count: 64))
            daemon.kill()
            _ = try daemon.wait()
            // Nobody could say so in the map; the connection has ended.
            #expect(try client.line() == nil)
            let report = reading.stop()
            #expect(report.torn == 0 && report.backward == 0, "round \(round): \(report)")
            #expect(report.reads > 100 && report.changes > 20, "round \(round): \(report)")
            #expect(report.highest >= least)
            least = report.highest
        }
        let daemon = try place.start()
        let state = try JSON(parsing: place.client().ask(#"{"op":"get","store":"counter/main"}"#))
        #expect(try #require(state["states"]?["counter/main"]?["count"]?.int) >= least)
        _ = try place.stop(daemon)
    }

    /// Connections go on at the next daemon, so nothing but the map says that nobody keeps it any more.
    @Test func restartThatKeepsConnectionsEndsTheirMaps() throws {
        let place = try DaemonBus(hasLog: true)
        let daemon = SupervisedProgram(
            [RunningProgram.path(of: "fluxbusd")] + place.arguments(),
            messages: "\(place.directory.path)/messages", again: [], store: DescriptorStore())
        try daemon.start()
        let wait = try RunningProgram.run(
            "fluxbus", ["--address", place.address, "wait", "--timeout", "30s"])
        #expect(wait.status == 0, "\(wait.errors)")
        let client = try place.client()
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        for run in 1...2 {
            let map = try client.reader(of: "counter")
            #expect(try client.ask(increment).contains(#""ok":true"#))
            #expect(map.state(of: "main").state?["count"] == .int(run))
            #expect(daemon.stopToRestart() == 0)
            #expect(map.state(of: "main").answer == .moved)
            try daemon.start()
        }
        #expect(try client.reader(of: "counter").state(of: "main").state?["count"] == 2)
        #expect(daemon.stop() == 0)
    }

    @Test func mapEndsWithItsLastConnection() throws {
        let bus = try LiveBus()
        let other = try bus.client()
        let client = try bus.client()
        var map: MapReader? = try client.reader(of: "counter")
        client.close()
        func counted() throws -> Int {
            let stats = try JSON(parsing: other.ask(#"{"op":"stats"}"#))
            return try #require(stats["stats"]?["memory"]?["maps"]?.int)
        }
        // The daemon sees the end in its time.
        while map?.state(of: "main").answer != .moved { _ = try other.ask(#"{"op":"ping"}"#) }
        // And that the last reader has let the file go.
        #expect(try counted() > 0)
        map = nil
        while try counted() > 0 {}
    }
}
