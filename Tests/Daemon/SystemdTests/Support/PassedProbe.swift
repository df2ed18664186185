import BusSystem
import CSystemd
import Foundation
import Glibc
import TestServer

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
        defer { for descriptor in descriptors { close(descriptor) } }
        // Two come as input and errors, and what is an error goes the way of the output.
        let moves = ["3<&0 </dev/null", "4<&2"].prefix(descriptors.count).joined(separator: " ")
        let probe = "\(Harness.executables)/systemd-probe"
        let streams = zip([STDIN_FILENO, STDERR_FILENO], descriptors.map(Spawning.Stream.descriptor))
        let outcome = try RunningProgram(
            ["/bin/sh", "-c", "exec \(moves) 2>&1; \(variables) exec '\(probe)' passed"],
            streams: Dictionary(uniqueKeysWithValues: streams)
        ).wait()
        status = outcome.status
        lines = outcome.output.split(separator: "\n").map(String.init)
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
