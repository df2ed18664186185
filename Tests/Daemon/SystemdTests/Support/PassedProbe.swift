import CSystemd
import Foundation
import Glibc

/// A `systemd-probe` that a shell starts as the manager would: with descriptors from 3 on, and variables that speak of the
/// probe's own process.
struct PassedProbe {
    let status: Int32
    /// What it printed, errors too.
    let lines: [String]

    /// - Parameters:
    ///   - descriptors: At most two; they are closed here.
    ///   - variables: What stands before the command, as the shell reads it: `LISTEN_PID=$$ LISTEN_FDS=1`.
    init(_ descriptors: [Int32], _ variables: String) throws {
        let process = Process()
        let output = Pipe()
        let passed = descriptors.map { FileHandle(fileDescriptor: $0, closeOnDealloc: true) }
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Foundation passes three: two come as input and errors, and what is an error goes the way of the output.
        let moves = ["3<&0 </dev/null", "4<&2"].prefix(descriptors.count).joined(separator: " ")
        let probe = "\(Harness.executables)/systemd-probe"
        process.arguments = ["-c", "exec 3<&- 4<&- \(moves) 2>&1; \(variables) exec '\(probe)' passed"]
        process.standardInput = passed.first ?? FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = passed.dropFirst().first ?? output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        status = process.terminationStatus
        lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// A socket that listens, of a Unix or an Internet family.
    static func listener(_ family: Int32) -> Int32 {
        let descriptor = socket(family, systemd_stream | systemd_close_on_exec, 0)
        // Unix: the kernel draws a name; TCP: a port.
        var address = sockaddr(
            sa_family: sa_family_t(family), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let length = family == AF_UNIX ? MemoryLayout<sa_family_t>.size : MemoryLayout<sockaddr>.size
        bind(descriptor, &address, socklen_t(length))
        listen(descriptor, 1)
        return descriptor
    }
}
