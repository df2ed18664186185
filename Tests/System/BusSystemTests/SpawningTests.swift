import BusSystem
import Foundation
import TestFiles
import Testing

@Suite struct SpawningTests {
    /// A pipe's end that it had besides would keep the pipe open for others.
    @Test func aProgramHasNoDescriptorBesidesItsStreams() throws {
        let directory = TemporaryDirectory()
        let other = dup(STDERR_FILENO)
        defer { close(other) }
        let file = "\(directory.path)/listed"
        let process = try Spawning.start(
            ["/bin/ls", "/proc/self/fd"], variables: [],
            streams: [STDOUT_FILENO: .file(file, flags: O_WRONLY | O_CREAT)], closesOthers: true)
        waitpid(process, nil, 0)
        // The last one is that of the folder which it reads.
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "0\n1\n2\n3\n")
    }
}
