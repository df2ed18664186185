import BusJSON
import BusLog
import Foundation
import TestServer
import TestStorage
import Testing

/// A disk that hangs in the middle of a write: the bus goes on with all that needs no disk, promises nothing meanwhile, and
/// takes up where it was when the disk is well again.
@Suite(.timeLimit(.minutes(10))) struct StalledDiskTests {
    private static func bus(sync: String? = nil) throws -> (LiveBus, StalledDisk) {
        var setup = LiveBus.Setup()
        (setup.hasLog, setup.sync) = (true, sync)
        let bus = try LiveBus(setup)
        return (bus, StalledDisk(bus.directory.path))
    }

    private static let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#

    private func isSilent(_ client: LineClient, milliseconds: Int32) -> Bool {
        var waited = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, milliseconds) == 0
    }

    @Test func busGoesOnWhileItsDiskHangs() throws {
        let (bus, disk) = try Self.bus()
        defer { disk.remove() }
        let writer = try bus.client()
        #expect(try writer.ask(Self.increment).contains(#""ok":true"#))
        let timed = #"{"op":"dispatch","store":"counter/main","action":"increment","in":"100ms"}"#
        #expect(try writer.ask(timed).contains(#""ok":true"#))

        // The write of a lone client's commit hangs.
        disk.stall()
        try writer.send(Self.increment)
        try #require(disk.holdsSomebody())

        // Nothing leaves that could tell of the commit. Nobody does anything, and meanwhile the timer becomes due.
        #expect(isSilent(writer, milliseconds: 2000))
        let waited = Date().timeIntervalSince1970

        // More than sockets hold is read: the bus takes turns.
        let other = try bus.client()
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            other.descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let pings = 70_000
        try other.send(bytes: String(repeating: #"{"op":"ping"}"# + "\n", count: pings))
        #expect(isSilent(other, milliseconds: 0))
        disk.recover()

        #expect(try #require(try writer.line()).contains(#""ok":true"#))
        for _ in 0..<pings { try #require(try other.line()?.contains(#""ok":true"#) == true) }
        let state = try writer.ask(#"{"op":"get","store":"counter/main"}"#)
        #expect(state.contains(#""count":3"#), "\(state)")

        // The timer fired in time, though nobody could be told.
        let history = try JSON(parsing: try writer.ask(#"{"op":"history","since":1}"#))
        let times = try #require(history["commits"]?.array).compactMap { $0["time"]?.double }
        #expect(times.count == 4 && times.allSatisfy { $0 < waited }, "\(history) before \(waited)")
    }

    /// The queue has its place again: it hangs a second time, and a third.
    @Test func diskMayHangAgain() throws {
        let (bus, disk) = try Self.bus()
        defer { disk.remove() }
        let writer = try bus.client()
        let reader = try bus.client()
        for count in 1...3 {
            disk.stall()
            try writer.send(Self.increment)
            try #require(disk.holdsSomebody())
            try reader.send(#"{"op":"get","store":"counter/main"}"#)
            #expect(isSilent(reader, milliseconds: 30))
            disk.recover()
            #expect(try #require(try writer.line()).contains(#""ok":true"#))
            #expect(try #require(try reader.line()).contains(#""count":\#(count)"#))
        }
    }

    /// A stop that is asked for meanwhile ends the bus when the disk is well again, with all that was acknowledged.
    @Test func stopWaitsForTheDisk() throws {
        let (bus, disk) = try Self.bus()
        defer { disk.remove() }
        let writer = try bus.client()
        disk.stall()
        try writer.send(Self.increment)
        try #require(disk.holdsSomebody())
        bus.server.stop()
        #expect(isSilent(writer, milliseconds: 30))
        disk.recover()
        #expect(try #require(try writer.line()).contains(#""ok":true"#))
        #expect(try #require(try writer.line()).contains(#""shutdown""#))
        bus.stop()
        try bus.start()
        let state = try bus.client().ask(#"{"op":"get","store":"counter/main"}"#)
        #expect(state.contains(#""count":1"#), "\(state)")
    }

    /// A snapshot is synced, too, and takes as long as the disk does; commits don't wait for that.
    @Test func writingGoesOnWhileTheSyncOfASnapshotHangs() throws {
        let (bus, disk) = try Self.bus(sync: "never")
        defer { disk.remove() }
        let writer = try bus.client()
        disk.stall(.sync)
        // As many commits as a snapshot follows on.
        let unanswered = String(Self.increment.dropLast()) + #","ack":false}"# + "\n"
        try writer.send(bytes: String(repeating: unanswered, count: 17_000))
        // Before it there are syncs of what was trimmed and moved.
        repeat {
            disk.letGo()
            try #require(disk.holdsSomebody())
        } while try LogReader(path: bus.path(LiveBus.Setup.logName)).snapshots().isEmpty
        for _ in 1...3 { #expect(try writer.ask(Self.increment).contains(#""ok":true"#)) }
        disk.recover()
        let state = try writer.ask(#"{"op":"get","store":"counter/main"}"#)
        #expect(state.contains(#""count":17003"#), "\(state)")
    }

    /// A crash of the machine costs at most the last second: while a sync takes longer, nothing more is written or acknowledged.
    @Test func writingWaitsForASyncThatIsLate() throws {
        let (bus, disk) = try Self.bus(sync: "interval")
        defer { disk.remove() }
        let writer = try bus.client()
        disk.stall(.sync)
        #expect(try writer.ask(Self.increment).contains(#""ok":true"#))
        try #require(disk.holdsSomebody())
        // Nobody asks for anything until the second is over.
        #expect(isSilent(writer, milliseconds: 1010))
        try writer.send(Self.increment)
        #expect(isSilent(writer, milliseconds: 300))
        disk.recover()
        #expect(try #require(try writer.line()).contains(#""ok":true"#))
        let state = try writer.ask(#"{"op":"get","store":"counter/main"}"#)
        #expect(state.contains(#""count":2"#), "\(state)")
    }
}
