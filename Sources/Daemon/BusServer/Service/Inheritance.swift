import BusEngine
import BusMachine
import BusSource
import BusSystem
import CLinux
import Glibc
import Systemd

/// The hand-over to the next daemon: the engine's state in a sealed file in memory, and its connections in one bundle,
/// both in the manager's descriptor store.
///
/// The state names its connections by number, in ascending order; the bundle holds their sockets in that order.
struct Inheritance {
    private static let stateName = "fluxbus-state"
    private static let connectionsName = "fluxbus-connections"
    /// More than any bus may hold; a larger file is not ours.
    private static let longestState = 16 << 30

    let state: [UInt8]
    let summary: StateTransfer.Summary
    /// The sockets by the numbers of their connections.
    let sockets: [ConnectionID: Int32]

    /// Stores state, connections, and the sockets that this daemon opened itself. When this
    /// returns, the manager has them.
    static func leave(
        _ engine: Engine, _ member: StateTransfer.Member?, _ connections: ConnectionTable,
        _ listeners: [Listener], to service: Service
    ) throws(SystemdError) {
        let state = engine.handOver(of: member)
        let file = try withExtendedLifetime(state) { () throws(SystemdError) in
            try StoredState.write(state.bytes, name: stateName)
        }
        var left = [(name: stateName, descriptor: file)]
        do throws(SystemdError) {
            let sockets = connections.ids.compactMap { connections[$0]?.descriptor }
            left.append((connectionsName, try DescriptorBundle.pack(sockets)))
            if let bundle = try ListenersLeft.bundle(listeners) { left.append(bundle) }
        } catch {
            for made in left { close(made.descriptor) }
            throw error
        }
        try service.store(left)
    }

    /// The hand-over of the previous daemon; nil if there is none. It is removed from the store in any case.
    static func take(from service: inout Service) throws(SystemdError) -> Inheritance? {
        let files = service.passed.take(named: stateName)
        let bundles = service.passed.take(named: connectionsName)
        defer { for passed in files + bundles { close(passed.descriptor) } }
        guard let file = files.last, let bundle = bundles.last else { return nil }
        try service.forget(stateName, connectionsName)
        let sockets = try DescriptorBundle.unpack(bundle.descriptor)
        do {
            return try Inheritance(StoredState.read(file.descriptor, limit: longestState), sockets)
        } catch {
            for socket in sockets { close(socket) }
            throw SystemdError(.descriptor, "What the previous daemon left can't be read: \(error)")
        }
    }

    private init(_ state: [UInt8], _ sockets: [Int32]) throws {
        self.state = state
        summary = try state.withUnsafeBytes { try StateTransfer.summary(of: $0) }
        guard summary.connections.count == sockets.count else {
            throw TransferFailure(
                "There are \(sockets.count) sockets for \(summary.connections.count) connections.")
        }
        self.sockets = Dictionary(uniqueKeysWithValues: zip(summary.connections, sockets))
    }

    /// Closes everything: clients see their end and connect again.
    func drop() { for socket in sockets.values { close(socket) } }
}

/// Sockets opened for us by a socket unit, under the name that the configuration gives.
enum PassedListening {
    static func open(
        _ name: String, at place: Place, from service: inout Service
    ) throws(StartFailure) -> [Listener] {
        func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
            StartFailure(code, SourceError("systemd \(name): \(message)", at: place).description)
        }
        let descriptors: [Int32]
        do throws(SystemdError) {
            descriptors = try service.listeners(named: name)
        } catch {
            throw failure(.system, error.message)
        }
        guard !descriptors.isEmpty else {
            throw failure(
                .configuration,
                "no socket of this name was passed; say FileDescriptorName=\(name) in the socket unit, and start it."
            )
        }
        var listeners: [Listener] = []
        for descriptor in descriptors {
            _ = linux_set_nonblocking(descriptor, 1)
            guard let address = SocketAddressText.bound(descriptor) else {
                throw failure(.configuration, "a passed socket is neither Unix nor TCP; pass one of these.")
            }
            if address.hasPrefix("tcp:"), !isLoopback(address) {
                throw failure(
                    .configuration,
                    "\(address) is beyond this machine, where TCP needs encryption and access rules, which this "
                        + "version does not have; say ListenStream=127.0.0.1:7411 in the socket unit.")
            }
            listeners.append(Listener(descriptor, address: address, isPassed: true))
        }
        return listeners
    }

    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("tcp:127.") || address.hasPrefix("tcp:[::1]:")
    }
}

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
            return InternetAddress(address).map { "tcp:\($0.text)" }
        }
        return withUnsafeBytes(of: &address) { bytes in
            let path = bytes[MemoryLayout<sa_family_t>.size..<min(Int(length), bytes.count)].prefix {
                $0 != 0
            }
            return "unix:\(String(decoding: path, as: UTF8.self))"
        }
    }
}
