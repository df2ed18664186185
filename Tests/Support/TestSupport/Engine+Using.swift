import BusEngine
import BusMachine

/// An engine used as its owner does, without clients that are more than a number.
extension Engine {
    /// Takes all that waits for a connection.
    package func takeOutput(of id: ConnectionID) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 64) { pieces in
            var bytes: [UInt8] = []
            while hasOutput(id) {
                var count = 0
                for piece in pieces.prefix(output(of: id, into: pieces)) {
                    bytes += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
                    count += piece.count
                }
                sent(id, count)
            }
            return bytes
        }
    }

    /// Uses everything that was taken over, hands it on and lets everybody go. Gives the connections that the next one
    /// would have.
    package func exercise(_ connections: [ConnectionID]) throws -> [ConnectionID] {
        let lines =
            #"{"op":"dispatch","type":"counter","action":"increment"}"# + "\n" + #"{"op":"sync"}"# + "\n"
        for _ in 0..<3 {
            tick()
            for id in connections {
                if case .reading = status(of: id) {
                    Array(lines.utf8).withUnsafeBytes { receive(id, $0) }
                }
                _ = takeOutput(of: id)
            }
            takeReady { _ in }
        }
        let next = handOver()
        let summary = try withExtendedLifetime(next) { try StateTransfer.summary(of: next.bytes) }
        for id in connections { disconnect(id) }
        return summary.connections
    }
}
