import Foundation
import TestFiles
import TestServer

/// A daemon of its own with the sample configuration, and a directory in which commands are run as a reader would.
///
/// What a document names where the installed service has it is meant in that directory.
final class FreshBus {
    let directory = TemporaryDirectory()
    private let daemon: RunningProgram

    init() throws {
        try FileManager.default.copyItem(
            at: Repository.root.appendingPathComponent("config"),
            to: URL(fileURLWithPath: "\(directory.path)/etc"))
        // A check looks for the directory of the socket, which a service makes when it starts.
        let configuration = "\(directory.path)/etc/fluxbusd.yaml"
        try String(contentsOfFile: configuration, encoding: .utf8)
            .replacing("/run/fluxbus/bus.sock", with: "\(directory.path)/configured.sock")
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        daemon = try RunningProgram(
            "fluxbusd",
            [
                "--config", configuration, "--listen", "unix:\(directory.path)/bus.sock", "--log",
                "\(directory.path)/bus.sqlite",
            ])
        try check("fluxbus wait --timeout 50s")
    }

    deinit { daemon.kill() }

    private var socket: String { "\(directory.path)/bus.sock" }
    var log: String { "\(directory.path)/bus.sqlite" }

    /// The command as it is meant here.
    private func placed(_ command: String) -> String {
        command.replacing("/run/fluxbus/bus.sock", with: socket)
            .replacing("/var/lib/fluxbus/bus.sqlite", with: log)
            .replacing("/etc/fluxbus", with: "\(directory.path)/etc")
    }

    private func shell(_ command: String, _ more: [String: String]) throws -> RunningProgram {
        // A net: what never ends should fail its test, not stop all of them.
        try RunningProgram(
            ["/usr/bin/timeout", "300", "bash", "-o", "pipefail", "-c", placed(command)],
            environment: [
                "PATH": Repository.programs.path
                    + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "FLUXBUS_ADDRESS": "unix:\(socket)", "LANG": "C.UTF-8", "HOME": directory.path,
                "TMPDIR": directory.path,
            ].merging(more) { $1 },
            directory: directory.path)
    }

    /// Runs a command line to its end.
    func run(_ command: String, environment: [String: String] = [:]) throws -> RunningProgram.Outcome {
        try shell(command, environment).wait(atMost: 330)
    }

    @discardableResult
    func check(_ command: String) throws -> String {
        let outcome = try run(command)
        guard outcome.status == 0 else {
            throw Sockets.Failure("\(command) ended with \(outcome.status): \(outcome.errors)")
        }
        return outcome.output
    }

    /// Runs a command line that does not end until it has said something, and ends it. Somebody rings meanwhile.
    func runEndless(_ command: String, environment: [String: String] = [:]) throws -> String {
        let program = try shell(command, environment)
        var text = ""
        while text.isEmpty {
            if let news = program.output(within: 20) {
                if news.isEmpty { break }
                text += news
            } else {
                try check("fluxbus dispatch door rang")
            }
        }
        // `timeout` passes it on to all that it runs.
        program.signal(SIGTERM)
        _ = try program.wait()
        return text
    }
}
