import Foundation
import TestFiles

/// A daemon of its own with the sample configuration, and a directory in which commands are run as a reader would.
///
/// What a document names where the installed service has it is meant in that directory.
final class FreshBus {
    struct Failure: Error, CustomStringConvertible { let description: String }

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    let directory = TemporaryDirectory()
    private let daemon = Process()

    init() throws {
        try FileManager.default.copyItem(
            at: Repository.root.appendingPathComponent("config"),
            to: URL(fileURLWithPath: "\(directory.path)/etc"))
        // A check looks for the directory of the socket, which a service makes when it starts.
        let configuration = "\(directory.path)/etc/fluxbusd.yaml"
        try String(contentsOfFile: configuration, encoding: .utf8)
            .replacing("/run/fluxbus/bus.sock", with: "\(directory.path)/configured.sock")
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        daemon.executableURL = URL(fileURLWithPath: "\(Repository.programs.path)/fluxbusd")
        daemon.arguments = [
            "--config", "\(directory.path)/etc/fluxbusd.yaml", "--listen", "unix:\(socket)", "--log", log,
        ]
        daemon.standardError = FileHandle.nullDevice
        try daemon.run()
        try check("fluxbus wait --timeout 50s")
    }

    deinit {
        daemon.terminate()
        daemon.waitUntilExit()
    }

    private var socket: String { "\(directory.path)/bus.sock" }
    var log: String { "\(directory.path)/bus.sqlite" }

    /// The command as it is meant here.
    private func placed(_ command: String) -> String {
        command.replacing("/run/fluxbus/bus.sock", with: socket)
            .replacing("/var/lib/fluxbus/bus.sqlite", with: log)
            .replacing("/etc/fluxbus", with: "\(directory.path)/etc")
    }

    private func shell(_ command: String, _ output: Pipe, _ errors: Pipe) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // Signals reach it whatever the thread that starts it has blocked. And a net: what never ends should fail its
        // test, not stop all of them.
        process.arguments = [
            "--default-signal", "timeout", "60", "bash", "-o", "pipefail", "-c", placed(command),
        ]
        process.environment = [
            "PATH": Repository.programs.path
                + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "FLUXBUS_ADDRESS": "unix:\(socket)", "LANG": "C.UTF-8",
        ]
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        return process
    }

    /// Runs a command line to its end.
    func run(_ command: String) throws -> Outcome {
        let (output, errors) = (Pipe(), Pipe())
        let process = shell(command, output, errors)
        try process.run()
        // Messages are short; what could fill a pipe is the output, and that is read first.
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let messages = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: messages, as: UTF8.self))
    }

    @discardableResult
    func check(_ command: String) throws -> String {
        let outcome = try run(command)
        guard outcome.status == 0 else {
            throw Failure(description: "\(command) ended with \(outcome.status): \(outcome.errors)")
        }
        return outcome.output
    }

    /// Runs a command line that does not end until it has said something, and ends it. Somebody rings meanwhile.
    func runEndless(_ command: String) throws -> String {
        let (output, errors) = (Pipe(), Pipe())
        let process = shell(command, output, errors)
        try process.run()
        var text = ""
        while text.isEmpty, process.isRunning {
            var news = pollfd(
                fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            if poll(&news, 1, 20) == 1 {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                text += String(decoding: data, as: UTF8.self)
            } else {
                try check("fluxbus dispatch door rang")
            }
        }
        // `timeout` passes it on to all that it runs.
        process.terminate()
        process.waitUntilExit()
        return text
    }
}
