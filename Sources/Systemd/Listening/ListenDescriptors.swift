import Glibc

/// The descriptors that the manager passed to this process: sockets of socket units, and stored descriptors.
///
/// Why its own code and not `sd_listen_fds_with_names`: that one reads the variables from the process, so a test could
/// not stand in for the manager.
///
/// What it guarantees: each is closed on exec; each is taken once; nothing is closed behind the caller's back. What
/// nobody took stays in `remaining`, to be logged and closed: a forgotten socket would accept connections for ever
/// without anybody answering them.
///
/// ```swift
/// var passed = try ListenDescriptors(environment)
/// let listeners = try passed.take(named: "bus", as: .streamListener)
/// let state = passed.take(named: "state").last
/// for stranger in passed.remaining { close(stranger.descriptor) }
/// ```
public struct ListenDescriptors: Sendable {
    /// What was not taken yet, in the manager's order.
    public private(set) var remaining: [PassedDescriptor]

    /// Finds what was passed; nothing if the variables are absent or meant for another process.
    ///
    /// - Parameter first: Where the descriptors begin. Other than 3 only in tests.
    /// - Throws: `environment` if `LISTEN_FDS` is no count, or the names are not as many; `system` if a descriptor
    ///   that should be there is not.
    public init(
        _ environment: ServiceEnvironment, first: Int32 = 3
    ) throws(SystemdError) {
        remaining = []
        guard let count = try environment.number("LISTEN_FDS") else { return }
        guard try environment.isMeantForUs("LISTEN_PID") else { return }
        guard count <= UInt64(Int32.max - first) else {
            throw SystemdError(
                .environment, "LISTEN_FDS is \(count), which can't be; start the service without it.")
        }
        let names = try Self.names(environment, Int(count))
        // One after the other, so that a count of what is not there ends with the first that is missing.
        for index in 0..<Int(count) {
            let descriptor = first + Int32(index)
            let flags = fcntl(descriptor, F_GETFD)
            guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) >= 0 else {
                throw SystemdError.failed(
                    "Taking over descriptor \(descriptor)",
                    advice: "LISTEN_FDS promises it; start the service by its unit.")
            }
            remaining.append(
                PassedDescriptor(descriptor: descriptor, name: names.map { $0[index] } ?? "unknown"))
        }
    }

    /// Takes all of this name, in the manager's order.
    public mutating func take(named name: String) -> [PassedDescriptor] {
        let taken = remaining.filter { $0.name == name }
        remaining.removeAll { $0.name == name }
        return taken
    }

    /// Takes all of this name as sockets of one kind.
    ///
    /// - Throws: `descriptor` if one is something else; then none is taken.
    public mutating func take(named name: String, as kind: SocketKind) throws(SystemdError) -> [Int32] {
        for candidate in remaining where candidate.name == name {
            guard try kind.matches(candidate.descriptor) else {
                throw SystemdError(
                    .descriptor,
                    "The descriptor \"\(name)\" (\(candidate.descriptor)) is not \(kind); correct the Listen "
                        + "settings of the socket unit with FileDescriptorName=\(name).")
            }
        }
        return take(named: name).map(\.descriptor)
    }

    /// The names, one for each; nil from a manager that is too old to name them, which leaves them all "unknown", as systemd
    /// does.
    private static func names(
        _ environment: ServiceEnvironment, _ count: Int
    ) throws(SystemdError) -> [String]? {
        guard let text = environment.variables["LISTEN_FDNAMES"] else { return nil }
        let names =
            text.isEmpty && count == 0 ? [] : text.split(separator: ":", omittingEmptySubsequences: false)
        guard names.count == count else {
            throw SystemdError(
                .environment,
                "LISTEN_FDS is \(count), but LISTEN_FDNAMES has \(names.count) names; start the service by its unit."
            )
        }
        return names.map(String.init)
    }
}
