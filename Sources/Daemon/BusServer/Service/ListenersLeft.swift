import CLinux
import Glibc
import Systemd

/// Listening sockets that the previous daemon had opened itself: by their addresses, until they are used again. Clients
/// that connect while the daemon restarts wait at them.
struct ListenersLeft {
    private static let name = "fluxbus-listeners"
    private var descriptors: [String: Int32] = [:]

    /// The sockets in one bundle, as it is to be stored; nil if there are none.
    static func bundle(_ listeners: [Listener]) throws(SystemdError) -> (name: String, descriptor: Int32)? {
        listeners.isEmpty ? nil : (name, try DescriptorBundle.pack(listeners.map(\.descriptor)))
    }

    /// The sockets of the previous daemon. They are removed from the store in any case.
    init(from service: inout Service) throws(SystemdError) {
        let bundles = service.passed.take(named: Self.name)
        defer { for passed in bundles { close(passed.descriptor) } }
        if bundles.isEmpty { return }
        try service.forget(Self.name)
        for bundle in bundles {
            for descriptor in try DescriptorBundle.unpack(bundle.descriptor) {
                let address = SocketAddressText.bound(descriptor)
                guard let address, descriptors[address] == nil else {
                    close(descriptor)
                    continue
                }
                descriptors[address] = descriptor
            }
        }
    }

    /// No sockets.
    init() {}

    mutating func take(_ address: String) -> Int32? { descriptors.removeValue(forKey: address) }

    /// Closes those that the configuration does not name any more, and removes their files.
    mutating func closeRest() {
        for (address, descriptor) in descriptors {
            let path = address.hasPrefix("unix:") ? String(address.dropFirst(5)) : ""
            Listener(descriptor, address: address, file: SocketFile(path: path)).close()
        }
        descriptors = [:]
    }
}

/// The address of a socket, as the rest of the daemon writes it: `unix:/path`, `tcp:host:port`.
enum SocketAddressText {
    /// Nil for a socket of another kind.
    static func bound(_ descriptor: Int32) -> String? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        guard Int32(address.ss_family) == AF_UNIX else {
            return TCPListening.text(of: address).map { "tcp:\($0)" }
        }
        return withUnsafeBytes(of: &address) { bytes in
            let path = bytes[MemoryLayout<sa_family_t>.size..<min(Int(length), bytes.count)].prefix {
                $0 != 0
            }
            return "unix:\(String(decoding: path, as: UTF8.self))"
        }
    }
}
