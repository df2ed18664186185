import Foundation
import TestFiles
import TestServer
import Testing

/// What the bus of a user begins with (`deploy/user/fluxbusd.service`).
@Suite(.timeLimit(.minutes(10))) struct UserSamplesTests {
    private let directory = TemporaryDirectory()

    /// Runs what the users' own unit does before the daemon, with the samples of the source, or where there are none.
    private func begin(hasSamples: Bool = true) throws {
        // The unit's path has no spaces, and that of the source may have some.
        let samples = "\(directory.path)/samples"
        try? FileManager.default.removeItem(atPath: samples)
        if hasSamples {
            try FileManager.default.createSymbolicLink(
                atPath: samples,
                withDestinationPath: Repository.root.appendingPathComponent("config").path)
        }
        let unit = try Repository.text("deploy/user/fluxbusd.service")
        #expect(!unit.contains("/usr/share/doc"), "a system may leave out its documentation")
        let line = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("ExecStartPre=-/bin/sh -c '") })
        let script = String(try #require(line.split(separator: "'").dropFirst().first))
        _ = try RunningProgram(
            [
                "/bin/sh", "-c",
                script.replacing("$$", with: "$").replacing("/usr/share/fluxbus/examples", with: samples),
                "sh", "\(directory.path)/config",
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/\(folder)").sorted()
    }

    @Test func usersOwnBusBeginsWithSamplesWhereThereIsNothing() throws {
        let types = try FileManager.default.contentsOfDirectory(atPath: Repository.sampleTypes).sorted()
        let path = "\(directory.path)/config"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try begin(hasSamples: false)
        #expect(try names("config") == [])
        try begin()
        #expect(try names("config") == ["fluxbusd.yaml", "types"])
        #expect(try names("config/types") == types)
        // Once there is a configuration, it is left alone.
        try FileManager.default.removeItem(atPath: "\(path)/types")
        try begin()
        #expect(try names("config") == ["fluxbusd.yaml"])
    }

    /// What a link names may be there later.
    @Test func linksAreLeftAlone() throws {
        let path = "\(directory.path)/config"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(path)/fluxbusd.yaml", withDestinationPath: "/nowhere/fluxbusd.yaml")
        try begin()
        #expect(try names("config") == ["fluxbusd.yaml"])
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/fluxbusd.yaml")
                == "/nowhere/fluxbusd.yaml")
    }

    @Test func usersOwnTypesAreNotMixedWithSamples() throws {
        try directory.write(
            "config/types/mine.yaml",
            "type: mine\ninitial: { n: 0 }\nactions: { raise: { increment: { n: 1 } } }\n")
        try begin()
        #expect(try names("config") == ["fluxbusd.yaml", "types"])
        #expect(try names("config/types") == ["mine.yaml"])
        let checked = try RunningProgram.run(
            "fluxbusd",
            [
                "--config", "\(directory.path)/config/fluxbusd.yaml", "--listen",
                "unix:\(directory.path)/bus", "--check",
            ])
        #expect(checked.status == 0, "\(checked.output)\(checked.errors)")
    }
}
