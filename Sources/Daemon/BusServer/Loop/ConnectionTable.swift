import BusEngine

/// The connections by the number the engine assigned, and the tokens under which epoll knows them.
///
/// A token carries number and generation, so an event reported before its connection was closed and its number
/// reused is recognised and ignored.
struct ConnectionTable {
    private var slots: [Connection?] = []
    private var generation: UInt32 = 0
    private(set) var count = 0

    /// Numbers are small: the engine reuses them.
    mutating func insert(_ id: ConnectionID, descriptor: Int32) -> UInt64 {
        while slots.count <= id { slots.append(nil) }
        precondition(slots[id] == nil, "The engine gave the number of a connection that is still open.")
        generation &+= 1
        slots[id] = Connection(descriptor: descriptor, generation: generation)
        count += 1
        return token(of: id, generation)
    }

    mutating func remove(_ id: ConnectionID) -> Connection? {
        guard slots.indices.contains(id), let connection = slots[id] else { return nil }
        slots[id] = nil
        count -= 1
        return connection
    }

    subscript(id: ConnectionID) -> Connection? {
        slots.indices.contains(id) ? slots[id] : nil
    }

    /// Changes an open connection in place.
    mutating func update(_ id: ConnectionID, _ change: (inout Connection) -> Void) {
        if slots[id] != nil { change(&slots[id]!) }
    }

    /// The number of the open connection that a token was made for; nil when it is closed.
    func find(_ token: UInt64) -> ConnectionID? {
        let id = Int(token >> 32)
        guard let connection = self[id], connection.generation == UInt32(truncatingIfNeeded: token) else {
            return nil
        }
        return id
    }

    func token(of id: ConnectionID) -> UInt64 {
        guard let connection = self[id] else {
            preconditionFailure("A token was asked for a closed connection.")
        }
        return token(of: id, connection.generation)
    }

    var ids: [ConnectionID] { slots.indices.filter { slots[$0] != nil } }

    private func token(of id: ConnectionID, _ generation: UInt32) -> UInt64 {
        UInt64(id) << 32 | UInt64(generation)
    }
}
