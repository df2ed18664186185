import Foundation
import Testing

/// A real daemon with the sample types, in a process of its own, on a socket in a directory of its own.
final class ExampleBus {
    let directory: String
    let address: String
    private let daemon: RunningProgram

    init(_ program: String = "fluxbusd", types: Bool = true) throws {
        // The path of a socket is short, so not under a $TMPDIR that may be long.
        var template = Array("/tmp/fluxbus-example.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        address = "unix:\(directory)/s"
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let samples = root.appendingPathComponent("config/types").path
        daemon = try RunningProgram(program, ["--listen", address] + (types ? ["--types", samples] : []))
        // It says so when it listens.
        let message = try #require(daemon.nextMessage())
        try #require(message.contains("listening"), "\(message)")
    }

    deinit {
        daemon.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
