import Foundation
import TestFiles
import Testing

/// One of the built programs as a process of its own, spoken to by lines. It is killed when it is let go.
final class RunningProgram {
    private let process = Process()
    private let input = Pipe()
    private var output = PipeLines()
    private var errors = PipeLines()

    init(_ name: String, _ arguments: [String] = [], bus: String? = nil) throws {
        process.executableURL = Repository.programs.appendingPathComponent(name)
        process.arguments = arguments
        process.environment = bus.map { ["FLUXBUS_ADDRESS": $0] } ?? [:]
        process.standardInput = input
        process.standardOutput = output.pipe
        process.standardError = errors.pipe
        try process.run()
    }

    deinit { kill() }

    func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    func endInput() throws { try input.fileHandleForWriting.close() }

    /// The next line of its output; nil when there is no more.
    func nextLine() -> String? { output.next() }

    /// The next line of its messages.
    func nextMessage() -> String? { errors.next() }

    /// Reads lines until one is `line`; false when the output ended before.
    func reads(_ line: String) -> Bool {
        while let next = nextLine() {
            if next == line { return true }
        }
        return false
    }

    /// Ends it as a crash does: without a chance to say goodbye.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Waits for its own end and gives the exit code.
    func waitForExit() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
}

/// The lines that come through a pipe.
private struct PipeLines {
    let pipe = Pipe()
    private var unread = Data()

    /// Waits for the next line; nil at the end.
    mutating func next() -> String? {
        while true {
            if let end = unread.firstIndex(of: 10) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread = Data(unread[(end + 1)...])
                return line
            }
            let piece = pipe.fileHandleForReading.availableData
            if piece.isEmpty { return nil }
            unread += piece
        }
    }
}
