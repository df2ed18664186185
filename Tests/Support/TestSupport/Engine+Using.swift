import BusEngine
import BusMachine

/// An engine used as its owner does, without clients that are more than a number.
extension Engine {
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
