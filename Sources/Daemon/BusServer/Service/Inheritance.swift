import BusEngine
import BusMachine
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
        _ engine: Engine, _ connections: ConnectionTable, _ listeners: [Listener], to service: Service
    ) throws(SystemdError) {
        let state = engine.handOver()
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
