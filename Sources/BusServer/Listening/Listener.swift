import BusEngine
import CLinux
import Glibc

/// A socket that listens. Its file, if it has one, is removed when it is closed and still its own.
final class Listener {
    let descriptor: Int32
    /// As clients reach it: `unix:/path`, `tcp:host:port` with the port that the system chose.
    let address: String
    private let file: SocketFile?
    private var isOpen = true

    private var isTCP: Bool { address.hasPrefix("tcp:") }

    init(_ descriptor: Int32, address: String, file: SocketFile? = nil) {
        self.descriptor = descriptor
        self.address = address
        self.file = file
    }

    deinit { close() }

    /// Opens what the configuration asks for; of a name, all sockets that the manager passed under it.
    static func open(_ address: ListenAddress, _ service: inout Service) throws(StartFailure) -> [Listener] {
        switch address.kind {
        case .unix(let path, let mode, let group):
            [try UnixListening.open(path: path, mode: mode, group: group, at: address.place)]
        case .tcp(let host, let port):
            [try TCPListening.open(host, port: port, at: address.place)]
        case .systemd(let name):
            try PassedListening.open(name, at: address.place, from: &service)
        }
    }

    /// First the file, so that whoever comes now is told by the file system at once.
    func close() {
        guard isOpen else { return }
        isOpen = false
        file?.removeIfOurs()
        SystemCall.close(descriptor)
    }

    /// Who connected; nil when the kernel does not say.
    func identify(_ connection: Int32, _ address: sockaddr_storage) -> Peer? {
        if isTCP {
            guard let text = TCPListening.text(of: address) else { return nil }
            _ = linux_set_nodelay(connection)
            return .tcp(address: text)
        }
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        guard linux_peer_credentials(connection, &pid, &uid, &gid) == 0 else { return nil }
        return .unix(uid: Int(uid), pid: Int(pid))
    }
}
