import BusJSON
import BusMachine

/// How much memory the daemon takes.
///
/// The meter counts from below what clients make the daemon hold: values take more memory than their encoding. So the
/// owner of the process also measures what it really takes, and the greater of the two counts.
final class MemoryMeter {
    let machine: StateMachine
    let connections: Connections
    let hub: SubscriptionHub
    let reads: PendingReads
    let maps: Maps

    /// What the process really takes, as measured by its owner; 0 where nothing was measured.
    var measured = 0

    init(
        _ machine: StateMachine, _ connections: Connections, _ hub: SubscriptionHub, _ reads: PendingReads,
        _ maps: Maps
    ) {
        self.machine = machine
        self.connections = connections
        self.hub = hub
        self.reads = reads
        self.maps = maps
    }

    /// All that clients can make the daemon hold, in bytes.
    var accounted: Int {
        machine.stateMemory + machine.partsMemory + connections.memory + machine.keys.count * Self.key
            + hub.memory + reads.bytes + maps.bytes
    }

    /// What of that is for what, in bytes.
    var parts: JSONObject {
        [
            "states": .int(machine.stateMemory + machine.partsMemory - machine.viewMemory),
            "views": .int(machine.viewMemory),
            "keys": .int(machine.keys.count * Self.key),
            "outboxes": .int(connections.outputBytes), "heldInput": .int(connections.heldBytes),
            "wills": .int(connections.willBytes), "subscriptions": .int(hub.memory),
            "reads": .int(reads.bytes), "maps": .int(maps.bytes),
            "connections": .int(connections.count * Connections.each),
        ]
    }

    /// What a remembered key counts as.
    private static let key = 256

    var inUse: Int { max(accounted, measured) }

    /// What the daemon may hold, in bytes.
    var limit: Int { connections.limits.memory }

    var isOver: Bool { inUse > limit }
}

/// A figure of memory as it is kept from one change to the next, and as it is when it is counted from nothing.
struct MemoryCount {
    let name: String
    let kept: Int
    let counted: Int

    init(_ name: String, _ kept: Int, _ counted: Int) {
        (self.name, self.kept, self.counted) = (name, kept, counted)
    }

    var isRight: Bool { kept == counted && kept >= 0 }
}
