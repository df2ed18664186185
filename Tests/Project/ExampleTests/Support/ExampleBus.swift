import Foundation
import TestFiles
import Testing

/// A real daemon with the sample types, in a process of its own, on a socket in a directory of its own.
final class ExampleBus {
    private let place = TemporaryDirectory()
    var directory: String { place.path }
    let address: String
    private let daemon: RunningProgram

    init(_ program: String = "fluxbusd", types: Bool = true) throws {
        address = "unix:\(place.path)/s"
        daemon = try RunningProgram(
            program, ["--listen", address] + (types ? ["--types", Repository.sampleTypes] : []))
        // It says so when it listens.
        let message = try #require(daemon.nextMessage())
        try #require(message.contains("listening"), "\(message)")
    }

    deinit { daemon.kill() }
}
