import BusEngine

/// The socket of a client of a `MemoryBus`, as far as there is one: bytes on their way in both directions.
final class MemoryEndpoint {
    /// Another one after a restart.
    var engine: Engine
    let connection: ConnectionID
    var isReading = true
    /// Whether its socket takes nothing while it does not read.
    var isFullWhenNotReading = true
    private(set) var isEnded = false
    var toSend: [UInt8] = []
    private var received: [UInt8] = []
    private var taken = 0

    init(engine: Engine, connection: ConnectionID) {
        self.engine = engine
        self.connection = connection
    }

    func nextLine() -> String? {
        guard let end = received[taken...].firstIndex(of: 10) else { return nil }
        let line = String(decoding: received[taken..<end], as: UTF8.self)
        taken = end + 1
        if taken == received.count {
            received = []
            taken = 0
        }
        return line
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        engine.disconnect(connection)
    }

    /// Takes what the engine has; true if there was something.
    func takeOutput() -> Bool {
        guard isReading, !isEnded, engine.hasOutput(connection) else { return false }
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 16) { pieces in
            let filled = engine.output(of: connection, into: pieces)
            var count = 0
            for piece in pieces.prefix(filled) {
                received.append(contentsOf: UnsafeRawBufferPointer(start: piece.base, count: piece.count))
                count += piece.count
            }
            engine.sent(connection, count)
        }
        return true
    }

    /// A client that does not read has a socket that takes nothing.
    func noteIfFull() {
        if !isEnded, !isReading, isFullWhenNotReading, engine.hasOutput(connection) {
            engine.noteFull(connection)
        }
    }

    /// Gives the engine what it is ready to read; true if there was something.
    func offerInput() -> Bool {
        guard !isEnded, !toSend.isEmpty, case .reading = engine.status(of: connection) else { return false }
        let bytes = toSend
        toSend = []
        bytes.withUnsafeBytes { engine.receive(connection, $0) }
        return true
    }

    /// Ends when the engine has said goodbye and everything is taken; true if so.
    func endIfClosing() -> Bool {
        guard !isEnded, case .closing = engine.status(of: connection), !engine.hasOutput(connection),
            !engine.holdsOutput(connection)
        else {
            return false
        }
        end()
        return true
    }
}
