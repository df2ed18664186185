import CLinux
import Glibc
import Systemd

/// Listening sockets that the daemon before had opened itself: by their addresses, until they are used again. Clients
/// that connect while the daemon restarts wait at them.
struct ListenersLeft {
    private static let name = "fluxbus-listeners"
    private var descriptors: [String: Int32] = [:]

    /// The sockets in one bundle, as it is to be stored; nil if there are none.
    static func bundle(_ listeners: [Listener]) throws(SystemdError) -> (name: String, descriptor: Int32)? {
        listeners.isEmpty ? nil : (name, try DescriptorBundle.pack(listeners.map(\.descriptor)))
    }

    /// What the daemon before left. Whatever comes of it, it is taken out of the store.
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

    /// None.
    init() {}

    mutating func take(_ address: String) -> Int32? { descriptors.removeValue(forKey: address) }

    /// Closes what the configuration does not name any more, and removes the files.
    mutating func closeRest() {
        for (address, descriptor) in descriptors {
            let path = address.hasPrefix("unix:") ? String(address.dropFirst(5)) : ""
            Listener(descriptor, address: address, file: SocketFile(path: path)).close()
        }
        descriptors = [:]
    }
}
