import FluxBusCommand
import Foundation
import TestFiles
import Testing

/// Where an export goes: a regular file is replaced when the new one is whole, and nothing else ever is.
@Suite("Files that an export makes", .timeLimit(.minutes(10)))
struct NewFileTests {
    private let directory = TemporaryDirectory()

    private func run(_ path: String) throws -> CommandRun {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/a"}"#)
        let address = try bus.listen()
        defer { bus.stop() }
        return try CommandRun(["export", "-o", path], bus: address)
    }

    private func kind(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).sorted()
    }

    @Test func aPipeIsWrittenTo() throws {
        let path = "\(directory.path)/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        // Held open for both, so that nobody waits for the other; an export of one store fits.
        let reader = open(path, O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        #expect(try run(path).status == .success)
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(reader, &bytes, bytes.count)
        #expect(
            String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).hasPrefix(#"{"fluxbus":"export""#))
        #expect(kind(path) == S_IFIFO)
        #expect(names == ["pipe"])
    }

    @Test func aFullDeviceIsAnErrorAndStaysADevice() throws {
        let path = "\(directory.path)/full"
        // Making one takes root; without, the machine's own can't be harmed either.
        let isOurs = mknod(path, S_IFCHR | 0o666, 1 << 8 | 7) == 0
        let run = try run(isOurs ? path : "/dev/full")
        #expect(run.status == .internal)
        #expect(run.messages.contains("No space left on device"))
        #expect(kind(isOurs ? path : "/dev/full") == S_IFCHR)
        #expect(names == (isOurs ? ["full"] : []))
    }

    @Test func aLinkStaysAndWhatItLeadsToIsReplaced() throws {
        let folder = "\(directory.path)/folder"
        try directory.write("folder/file", "old")
        let path = "\(directory.path)/link"
        symlink("\(folder)/file", path)
        #expect(try run(path).status == .success)
        #expect(kind(path) == S_IFLNK)
        let text = try String(contentsOfFile: "\(folder)/file", encoding: .utf8)
        #expect(text.hasPrefix(#"{"fluxbus":"export""#))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
    }

    @Test func whatCannotBeWrittenIsSaid() throws {
        symlink("nowhere", "\(directory.path)/link")
        #expect(try run("\(directory.path)/link").status == .usage)
        let folder = try run(directory.path)
        #expect(folder.status == .usage)
        #expect(folder.messages.contains("is a directory: name a file in it."))
        #expect(try run("\(directory.path)/absent/file").status == .usage)
        #expect(names == ["link"])
    }
}
