import BusEngine
import BusMachine
import BusSource
import BusSystem
import BusTLS
import CLinux
import Glibc
import Systemd

/// A socket that listens. Its file, if it has one, is removed when it is closed and still its own.
final class Listener {
    let descriptor: Int32
    /// As clients reach it: `unix:/path`, `tcp:host:port` or `tls:host:port` with the port that the system chose.
    let address: String
    /// The address as the configuration has it, and the certificates for new connections there; nil where there is no TLS.
    private(set) var configured = ""
    var context: TLSContext?
    /// The service manager opened it, and keeps it while we restart.
    let isPassed: Bool
    private let file: SocketFile?
    private var isOpen = true

    var isTCP: Bool { !address.hasPrefix("unix:") }

    init(_ descriptor: Int32, address: String, isPassed: Bool = false, file: SocketFile? = nil) {
        self.isPassed = isPassed
        self.descriptor = descriptor
        self.address = address
        self.file = file
    }

    deinit { close() }

    /// Opens what the configuration names; for a name, all sockets that the manager passed under it. A socket of the
    /// previous daemon is used again.
    static func open(
        _ address: ListenAddress, _ contexts: [String: TLSContext], _ service: inout Service,
        _ left: inout ListenersLeft
    ) throws(StartFailure) -> [Listener] {
        switch address.kind {
        case .unix(let path, let mode, let group):
            let opening = UnixListening(path: path, mode: mode, group: group, place: address.place)
            if let descriptor = left.take("unix:\(path)") { return [try opening.reopen(descriptor)] }
            return [try opening.open()]
        case .tcp(let internet):
            if let descriptor = left.take(address.text) {
                return [Listener(descriptor, address: address.text)]
            }
            return [try TCPListening.open("tcp", internet, at: address.place)]
        case .tls(let internet, _):
            let listener =
                if let descriptor = left.take("tcp:\(internet.text)") {
                    Listener(descriptor, address: address.text)
                } else {
                    try TCPListening.open("tls", internet, at: address.place)
                }
            listener.configured = address.text
            listener.context = contexts[address.text]
            return [listener]
        case .systemd(let name):
            return try PassedListening.open(name, at: address.place, from: &service)
        }
    }

    /// Removes the file first, so that new clients get an error from the file system at once.
    func close() {
        guard isOpen else { return }
        isOpen = false
        file?.removeIfOurs()
        SystemCall.close(descriptor)
    }

    /// Closes it here only: the next daemon has it, and its file stays.
    func leave() {
        guard isOpen else { return }
        isOpen = false
        SystemCall.close(descriptor)
    }

    /// The peer of a connection; nil when the kernel does not report it.
    ///
    /// - Parameter asksForUnit: Whether to look up the process's unit, too. That reads a file of `/proc`.
    func identify(_ connection: Int32, _ address: sockaddr_storage, asksForUnit: Bool) -> Peer? {
        if isTCP {
            guard let text = InternetAddress(address)?.text else { return nil }
            TCPSocket.prepare(connection)
            return .tcp(address: text)
        }
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        guard linux_peer_credentials(connection, &pid, &uid, &gid) == 0 else { return nil }
        let unit = asksForUnit ? Self.unit(ofPeerOn: connection) : nil
        return .unix(uid: Int(uid), pid: Int(pid), unit: unit)
    }

    /// The name of a peer's program; nil where it is not of this machine, gone, or in another namespace.
    static func comm(of peer: Peer) -> String? {
        guard case .unix(_, let pid, _) = peer else { return nil }
        let descriptor = Glibc.open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { SystemCall.close(descriptor) }
        // The kernel keeps 15 bytes of it, and ends the line.
        let name = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { space in
            String(
                decoding: space.prefix(max(0, Glibc.read(descriptor, space.baseAddress, space.count) - 1)),
                as: UTF8.self)
        }
        return name.isEmpty ? nil : name
    }

    /// Users choose the names of their own units, so these follow the name of their manager: no user can
    /// pose as a unit of the system.
    private static func unit(ofPeerOn connection: Int32) -> String? {
        guard let unit = try? PeerUnit(ofPeerOn: connection), let system = unit.system else { return nil }
        return unit.user.map { "\(system)/\($0)" } ?? system
    }
}

/// An address that the daemon listens on, and its source.
package struct ListenAddress: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// `mode` holds the permission bits; `group` is the name of a group, or nil for the daemon's own.
        case unix(path: String, mode: UInt32, group: String?)
        /// Port 0 lets the system choose one.
        case tcp(InternetAddress)
        /// The same with TLS.
        case tls(InternetAddress, TLSFiles)
        /// Sockets that systemd passes, by their FileDescriptorName.
        case systemd(name: String)
    }

    package let kind: Kind
    /// Its place in the configuration, for messages.
    package let place: Place

    package init(_ kind: Kind, at place: Place) {
        self.kind = kind
        self.place = place
    }

    /// As `--listen` takes it: `unix:/path`, `tcp:host:port`, `systemd:name`; and `tls:host:port`, which needs more.
    package var text: String {
        switch kind {
        case .unix(let path, _, _): "unix:\(path)"
        case .tcp(let address): "tcp:\(address.text)"
        case .tls(let address, _): "tls:\(address.text)"
        case .systemd(let name): "systemd:\(name)"
        }
    }

    package var isTCP: Bool { if case .tcp = kind { true } else { false } }

    /// What TLS needs there; nil where there is none.
    package var tls: TLSFiles? { if case .tls(_, let files) = kind { files } else { nil } }

    /// Whether clients on other machines may reach it.
    package var isBeyondThisMachine: Bool {
        switch kind {
        case .unix, .systemd: false
        case .tcp(let address), .tls(let address, _): !address.isLoopback
        }
    }
}
