import Dispatch
import Foundation
import TestFiles

/// The real `fluxbusd`, run as a process of its own.
final class DaemonProcess {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    let process = Process()
    private let errors = Pipe()
    private let output = Pipe()
    private var collected = ""

    /// The executables stand beside the test bundle.
    static let executable = Repository.programs.appendingPathComponent("fluxbusd")

    /// - Parameter through: A command that becomes the daemon, such as one that takes rights away before: its words stand
    ///   before the daemon's own.
    init(_ arguments: [String], environment: [String: String] = [:], through: [String] = []) throws {
        let words = through + [Self.executable.path] + arguments
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = environment
        process.standardError = errors
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    /// Runs it until it exits by itself.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], through: [String] = []
    ) throws -> Outcome {
        let daemon = try DaemonProcess(arguments, environment: environment, through: through)
        return try daemon.wait()
    }

    /// Waits for its end; one that does not come to it is killed after a minute, and gives -1.
    func wait() throws -> Outcome {
        let identifier = process.processIdentifier
        let net = DispatchWorkItem { kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: net)
        defer { net.cancel() }
        let output = try output.fileHandleForReading.readToEnd() ?? Data()
        let errors = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let status = process.terminationReason == .exit ? process.terminationStatus : -1
        return Outcome(
            status: status, output: String(decoding: output, as: UTF8.self),
            errors: collected + String(decoding: errors, as: UTF8.self))
    }

    /// Reads its messages until one has this text; false when it ended before, or says nothing for half a minute.
    func waitFor(_ text: String) -> Bool {
        while !collected.contains(text) {
            var news = pollfd(
                fd: errors.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&news, 1, 30_000) == 1 else { return false }
            let data = errors.fileHandleForReading.availableData
            if data.isEmpty { return false }
            collected += String(decoding: data, as: UTF8.self)
        }
        return true
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// How many descriptors it has open.
    func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd").count
    }
}
