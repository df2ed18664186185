import CSystemd
import Glibc

/// The unit of the process at the other end of a Unix socket.
///
/// libsystemd looks it up (`sd_peer_get_unit`): the kernel reports the process that connected, and `/proc` its control
/// group, whose path names the unit. So a sandbox must let the daemon see other processes: no `ProtectProc=invisible`
/// without the capability to look through it.
///
/// Look it up when the connection is accepted: a process that has ended belongs to no unit any more, and
/// its number may be another's.
public struct PeerUnit: Sendable, Hashable {
    /// The unit of the system's manager: `ssh.service`, `user@1000.service`; nil outside of all units.
    public let system: String?
    /// The unit of a user's own manager, inside of `user@….service`; nil if there is none.
    public let user: String?

    /// The most exact name: the user's unit if there is one.
    public var name: String? { user ?? system }

    /// Looks up the peer of a connected Unix socket.
    ///
    /// - Throws: `system` if the socket is none of that kind, or `/proc` may not be read.
    public init(ofPeerOn socket: Int32) throws(SystemdError) {
        system = try Self.ask(socket, sd_peer_get_unit)
        // Only processes under a user's manager have one; each look-up reads a file of /proc.
        user = system?.hasPrefix("user@") == true ? try Self.ask(socket, sd_peer_get_user_unit) : nil
    }

    private static func ask(
        _ socket: Int32, _ call: (Int32, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32
    ) throws(SystemdError) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let answer = call(socket, &text)
        defer { free(text) }
        if answer >= 0, let text { return String(cString: text) }
        // In no unit, or gone already.
        if answer == -ENODATA || answer == -ENXIO || answer == -ESRCH { return nil }
        throw SystemdError.failed(
            "Asking for the unit of a peer", -answer, advice: "Let the service see other processes in /proc.")
    }
}
