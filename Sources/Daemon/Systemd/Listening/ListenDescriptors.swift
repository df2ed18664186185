import CSystemd
import Glibc

/// The descriptors that the manager passed to this process: sockets of socket units, and stored descriptors.
///
/// Guarantees: each is closed on exec; each is taken once; nothing is closed behind the caller's back.
/// Descriptors not taken stay in `remaining`, to be logged and closed: a forgotten socket would accept
/// connections for ever without answering them.
///
/// ```swift
/// var passed = try ListenDescriptors()
/// let listeners = try passed.take(named: "bus", as: .streamListener)
/// let state = passed.take(named: "state").last
/// for stranger in passed.remaining { close(stranger.descriptor) }
/// ```
public struct ListenDescriptors: Sendable {
    /// Descriptors not taken yet, in the manager's order.
    public private(set) var remaining: [PassedDescriptor]

    /// Reads from libsystemd what was passed (`sd_listen_fds_with_names`): nothing if the variables are absent
    /// or meant for another process. It removes them, so that children do not mistake them for theirs: call it
    /// once, before there are threads.
    ///
    /// - Throws: `environment` if the variables hold what no manager writes; `system` if a descriptor
    ///   that should be there is not.
    public init() throws(SystemdError) {
        let said = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].compactMap { (name: String) in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count >= 0 else {
            if count == -EBADF {
                throw SystemdError.failed(
                    "Taking over descriptors", -count,
                    advice: "LISTEN_FDS promises it; start the service by its unit.")
            }
            throw SystemdError(
                .environment,
                "The service manager can't have said \(said.joined(separator: " ")); start the service by its unit.",
                systemCode: -count)
        }
        defer { free(names) }
        self.init(
            (0..<count).map { index in
                let name = names?[Int(index)]
                defer { free(name) }
                return PassedDescriptor(
                    descriptor: SD_LISTEN_FDS_START + index, name: name.map { String(cString: $0) } ?? "")
            })
    }

    /// Made from these descriptors.
    package init(_ passed: [PassedDescriptor]) { remaining = passed }

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
                    "The descriptor `\(name)` (\(candidate.descriptor)) is not \(kind); correct the Listen "
                        + "settings of the socket unit with FileDescriptorName=\(name).")
            }
        }
        return take(named: name).map(\.descriptor)
    }
}

/// A descriptor that the manager passed to this process, with the name it goes by.
public struct PassedDescriptor: Sendable, Hashable {
    /// Open, and closed on exec. The caller that takes it owns it.
    public let descriptor: Int32
    /// The socket unit's `FileDescriptorName=`, or the name under which it was stored. Several may share one.
    public let name: String

    public init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }
}
