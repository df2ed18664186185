import CLinux
import Glibc
import Systemd

/// Listening sockets that the daemon before had opened itself: by their addresses, until they are used again. Clients
/// that connect while the daemon restarts wait at them.
struct ListenersLeft {
    private static let name = "fluxbus-listeners"
    private var descriptors: [String: Int32] = [:]

    /// Stores the sockets in one bundle.
    static func leave(_ listeners: [Listener], to service: Service) throws(SystemdError) {
        if listeners.isEmpty { return }
        let bundle = try DescriptorBundle.pack(listeners.map(\.descriptor))
        defer { close(bundle) }
        try service.notifier.store([bundle], name: name, droppingDead: false)
    }

    /// What the daemon before left. Whatever comes of it, it is taken out of the store.
    init(from service: inout Service) throws(SystemdError) {
        let bundles = service.passed.take(named: Self.name)
        defer { for passed in bundles { close(passed.descriptor) } }
        if bundles.isEmpty { return }
        try Self.forget(service)
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

    static func forget(_ service: Service) throws(SystemdError) {
        try service.notifier.removeStored(named: name)
    }

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
