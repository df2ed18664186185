import BusEngine
import BusMachine
import Glibc
import Systemd

/// What a daemon leaves to the one that follows it: the engine's state in a sealed file in memory, and its connections
/// in one bundle, both in the manager's descriptor store.
///
/// The state names its connections by number, in ascending order; the bundle holds their sockets in that order.
struct Inheritance {
    private static let stateName = "fluxbus-state"
    private static let connectionsName = "fluxbus-connections"
    /// More than any bus may hold; a file that is larger is none of ours.
    private static let longestState = 16 << 30
    /// How long the manager is given to take what it is handed.
    private static let patience = Duration.seconds(5)

    let state: [UInt8]
    let summary: StateTransfer.Summary
    /// The sockets by the numbers of their connections.
    let sockets: [ConnectionID: Int32]

    /// Stores state, connections, and the sockets that this daemon listens on by itself. They are the manager's when this
    /// returns.
    static func leave(
        _ engine: Engine, _ connections: ConnectionTable, _ listeners: [Listener], to service: Service
    ) throws(SystemdError) {
        let state = engine.handOver()
        let file = try withExtendedLifetime(state) { () throws(SystemdError) in
            try StoredState.write(state.bytes, name: stateName)
        }
        defer { close(file) }
        let bundle = try DescriptorBundle.pack(connections.ids.compactMap { connections[$0]?.descriptor })
        defer { close(bundle) }
        do throws(SystemdError) {
            try service.notifier.store([file], name: stateName, droppingDead: false)
            try service.notifier.store([bundle], name: connectionsName, droppingDead: false)
            try ListenersLeft.leave(listeners, to: service)
            try service.notifier.settle(within: patience)
        } catch {
            try? forget(service)
            try? ListenersLeft.forget(service)
            throw error
        }
    }

    /// What the daemon before left; nil if it left nothing. Whatever comes of it, it is taken out of the store.
    static func take(from service: inout Service) throws(SystemdError) -> Inheritance? {
        let files = service.passed.take(named: stateName)
        let bundles = service.passed.take(named: connectionsName)
        defer { for passed in files + bundles { close(passed.descriptor) } }
        guard let file = files.last, let bundle = bundles.last else { return nil }
        try forget(service)
        let sockets = try DescriptorBundle.unpack(bundle.descriptor)
        do {
            return try Inheritance(StoredState.read(file.descriptor, limit: longestState), sockets)
        } catch {
            for socket in sockets { close(socket) }
            throw SystemdError(.descriptor, "What the daemon before left can't be read: \(error)")
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

    private static func forget(_ service: Service) throws(SystemdError) {
        try service.notifier.removeStored(named: stateName)
        try service.notifier.removeStored(named: connectionsName)
    }

    /// Lets go of everything: clients see their end and connect again.
    func drop() { for socket in sockets.values { close(socket) } }
}
