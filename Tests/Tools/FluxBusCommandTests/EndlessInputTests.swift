import BusJSON
import FluxBusCommand
import Foundation
import TestFiles
import TestServer
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Input without an end", .timeLimit(.minutes(10)))
struct EndlessInputTests {
    /// Counts, so that no clock says whether it is linear.
    @Test func aLongLineIsSearchedOnce() throws {
        let directory = TemporaryDirectory()
        let length = 8 << 20
        let path = try directory.write("line", String(repeating: "x", count: length) + "\n{}\n")
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var lines = InputLines()
        var found: [Int] = []
        while !lines.hasEnded {
            if let line = try lines.next() { found.append(line.count) } else { try lines.read(descriptor) }
        }
        #expect(found == [length, 2])
        #expect(lines.bytesSearched <= length + 4)
    }

    @Test func linesInOneReadAreEachSearchedOnce() throws {
        let directory = TemporaryDirectory()
        let path = try directory.write("lines", String(repeating: "{\"a\":1}\r\n\n", count: 20_000) + "{}")
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var lines = InputLines()
        var count = 0
        while !lines.hasEnded {
            if let line = try lines.next() {
                count += 1
                #expect(line.count == (count <= 20_000 ? 7 : 2))
            } else {
                try lines.read(descriptor)
            }
        }
        #expect(count == 20_001)
        #expect(lines.bytesSearched <= 20_000 * 10 + 2)
    }

    /// The kernel's own endless files: all of one kind of byte, and of all.
    @Test(arguments: ["/dev/zero", "/dev/urandom"])
    func devicesAreNoExports(_ path: String) throws {
        for command in [["import", path], ["replay", "--check", path, "--types", "/etc"]] {
            let run = try CommandRun(command, bus: "unix:/nowhere")
            #expect(run.status == .refused, "\(command): \(run.messages)")
        }
    }

    /// The same line for ever, behind a right first one.
    @Test(arguments: [
        "", "x", #"{"definition":{"type":"counter"}}"#, #"{"store":"counter/a","state":{}}"#,
        #"{"revision":2,"time":1,"by":{"uid":0},"actions":[]}"#,
    ])
    func repetitionBehindAFirstLineEnds(_ line: String) throws {
        let writer = try EndlessWriter(
            first: #"{"fluxbus":"export","form":1,"epoch":"e","revision":1,"until":1000000}"#, then: line)
        var reader = try RecordingReader("-", input: writer.descriptor)
        let failure = #expect(throws: CommandFailure.self) { while try reader.next() != nil {} }
        #expect(failure?.status == .refused)
    }

    @Test func aLineWithoutEndIsRefused() throws {
        let writer = try EndlessWriter(first: "", then: "x", ends: false)
        var lines = InputLines(longestLine: 1 << 20)
        let failure = #expect(throws: CommandFailure.self) {
            while true {
                if try lines.next() == nil { try lines.read(writer.descriptor) }
            }
        }
        #expect(failure?.message.contains("longer than 1048576 bytes") == true)
        #expect(lines.bytesSearched <= (1 << 20) + 65536)
    }
}

/// Sends the same line until nobody reads any more.
private final class EndlessWriter {
    let descriptor: Int32

    init(first: String, then line: String, ends: Bool = true) throws {
        var pair: [Int32] = [0, 0]
        // A socket, for writing to one whose reader has gone can be told not to be a signal.
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        descriptor = pair[0]
        let target = pair[1]
        let piece = Array((first.isEmpty ? "" : first + "\n").utf8)
        let repeated = Array(String(repeating: line + (ends ? "\n" : ""), count: 1000).utf8)
        Thread.detachNewThread {
            if Sockets.write(piece, to: target) { while Sockets.write(repeated, to: target) {} }
            close(target)
        }
    }

    deinit { close(descriptor) }
}
