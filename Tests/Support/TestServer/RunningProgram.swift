import BusSystem
import Dispatch
import Foundation
import TestFiles

/// A program that runs as a process. Its output is read when a test asks for it. It is killed when the object is released.
package final class RunningProgram {
    package struct Outcome: Sendable {
        package let status: Int32
        package let output: String
        package let errors: String
    }

    package let process: pid_t
    /// With what it has exited, once somebody has waited for it; until then its number is nobody else's.
    private var status: Int32?
    private let input: Pipe?
    private let output = PipeText()
    private let errors = PipeText()

    /// A daemon that names no configuration has none, also where FluxBus is installed.
    package static let common = [
        "FLUXBUS_CONFIG": Repository.root.appendingPathComponent("Tests/Support/fluxbusd.yaml").path
    ]

    /// - Parameters:
    ///   - words: The program's path and its arguments.
    ///   - directory: Its working directory.
    ///   - hasInput: Whether it reads what `send` writes; otherwise it reads nothing.
    ///   - streams: What its standard streams are in the place of those.
    package init(
        _ words: [String], environment: [String: String] = [:], directory: String? = nil,
        hasInput: Bool = false, streams: [Int32: Spawning.Stream] = [:]
    ) throws {
        input = hasInput ? Pipe() : nil
        let read = input?.fileHandleForReading
        let (written, said) = (output.pipe.fileHandleForWriting, errors.pipe.fileHandleForWriting)
        let usual: [Int32: Spawning.Stream] = [
            STDIN_FILENO: read.map { .descriptor($0.fileDescriptor) } ?? .file("/dev/null", flags: O_RDONLY),
            STDOUT_FILENO: .descriptor(written.fileDescriptor),
            STDERR_FILENO: .descriptor(said.fileDescriptor),
        ]
        process = try Spawning.start(
            (directory.map { ["/usr/bin/env", "-C", $0] } ?? []) + words,
            variables: Self.common.merging(environment) { $1 }.map { "\($0)=\($1)" },
            streams: usual.merging(streams) { $1 },
            closesOthers: true, leadsGroup: true, hasDefaultSignals: true)
        for end in [read, written, said] { try end?.close() }
    }

    /// Runs one of the programs of this package.
    ///
    /// - Parameter through: A command that executes the program, such as one that drops privileges first: its words precede the
    ///   program's own.
    package convenience init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], through: [String] = [],
        hasInput: Bool = false
    ) throws {
        try self.init(
            through + [Self.path(of: name)] + arguments, environment: environment, hasInput: hasInput)
    }

    deinit { kill() }

    /// The path of a program of this package.
    package static func path(of name: String) -> String {
        Repository.programs.appendingPathComponent(name).path
    }

    /// Copies a program of this package. Another process does it: a program that this one starts meanwhile would hold the copy open for
    /// writing, so that it could not be executed.
    package static func copy(_ name: String, to path: String) throws {
        let outcome = try RunningProgram(["/bin/cp", Self.path(of: name), path]).wait()
        guard outcome.status == 0 else { throw Sockets.Failure(outcome.errors) }
    }

    /// Runs a program of this package until it exits by itself.
    package static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], through: [String] = []
    ) throws -> Outcome {
        try RunningProgram(name, arguments, environment: environment, through: through).wait()
    }

    // MARK: Exit

    /// Waits until it exits. It is killed after this time; a program that a signal has ended has the status -1.
    package func wait(atMost seconds: Double = 60) throws -> Outcome {
        let net = DispatchWorkItem { [process] in Glibc.kill(process, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: net)
        defer { net.cancel() }
        let output = try output.rest()
        let errors = try errors.rest()
        return Outcome(status: end(), output: output, errors: errors)
    }

    private func end() -> Int32 {
        if let status { return status }
        var word: Int32 = 0
        while waitpid(process, &word, 0) < 0, errno == EINTR {}
        let code = word & 0x7f == 0 ? word >> 8 & 0xff : -1
        status = code
        return code
    }

    package func signal(_ number: Int32) { if status == nil { Glibc.kill(process, number) } }

    /// Kills it as a crash would, without a chance to clean up, and waits until it is gone.
    package func kill() {
        signal(SIGKILL)
        _ = end()
    }

    // MARK: Input and output

    package func send(_ line: String) throws {
        try input?.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    package func endInput() throws { try input?.fileHandleForWriting.close() }

    /// The next line of its output; nil if the output has ended, or if no line comes for a minute.
    package func nextLine() -> String? { output.nextLine() }

    /// Reads lines until one is `line`; false if the output ends before, or if nothing comes for a minute.
    package func reads(_ line: String) -> Bool {
        while let next = nextLine() {
            if next == line { return true }
        }
        return false
    }

    /// What it prints next, within this many milliseconds: nil if that is nothing, empty at the end of its output.
    package func output(within time: Int32) -> String? { output.next(within: time) }

    /// The next line of its error output; nil as for `nextLine`.
    package func nextMessage() -> String? { errors.nextLine() }

    /// Reads its error output until that contains `text`; false if it ends before, or if nothing comes for a minute.
    package func waitFor(_ text: String) -> Bool {
        while !errors.text.contains(text) {
            guard let news = errors.next(within: 60_000), !news.isEmpty else { return false }
        }
        return true
    }

    /// How many descriptors it has open.
    ///
    /// - Parameter includingTimers: Also that of timers, which Dispatch opens for good with the first one.
    package func descriptorCount(includingTimers: Bool = true) throws -> Int {
        let folder = "/proc/\(process)/fd"
        let all = try FileManager.default.contentsOfDirectory(atPath: folder)
        if includingTimers { return all.count }
        return all.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))
                != "anon_inode:[timerfd]"
        }
    }
}
