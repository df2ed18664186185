import BusEngine
import BusJSON

/// One client of a `MemoryBus`: it sends lines and keeps the lines it receives until the test looks at them.
package final class MemoryClient {
    private unowned let bus: MemoryBus
    package let connection: ConnectionID
    /// When false, nothing of what the engine has for it is taken, as from a client that does not read.
    package var isReading = true { didSet { bus.settle() } }
    package private(set) var isEnded = false

    private var toSend: [UInt8] = []
    private var received: [UInt8] = []
    private var taken = 0

    init(bus: MemoryBus, connection: ConnectionID) {
        self.bus = bus
        self.connection = connection
    }

    // MARK: Sending

    /// Sends a line, whatever it holds.
    package func send(_ line: String) { send(bytes: Array(line.utf8) + [10]) }

    package func send(bytes: [UInt8]) {
        toSend += bytes
        bus.settle()
    }

    /// Ends the connection as a process does that goes.
    package func close() {
        guard !isEnded else { return }
        isEnded = true
        bus.engine.disconnect(connection)
        bus.settle()
    }

    /// Finishes sending but still reads.
    package func finishSending() {
        bus.engine.endOfInput(connection)
        bus.settle()
    }

    // MARK: Receiving

    /// The next line, as bytes of text; nil when nothing has come.
    package func nextLine() -> String? {
        guard let end = received[taken...].firstIndex(of: 10) else { return nil }
        defer {
            taken = end + 1
            if taken == received.count {
                received = []
                taken = 0
            }
        }
        return String(decoding: received[taken..<end], as: UTF8.self)
    }

    package func next() throws -> JSON? { try nextLine().map { try JSON(parsing: $0) } }

    /// All that has come.
    package func all() throws -> [JSON] {
        var lines: [JSON] = []
        while let line = try next() { lines.append(line) }
        return lines
    }

    /// Sends a request and gives all that came, the reply last or wherever it stood.
    @discardableResult
    package func ask(_ line: String) throws -> [JSON] {
        send(line)
        return try all()
    }

    // MARK: For the bus

    /// Takes what the engine has; true if there was something.
    func takeOutput() -> Bool {
        guard isReading, !isEnded, bus.engine.hasOutput(connection) else { return false }
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 16) { pieces in
            let filled = bus.engine.output(of: connection, into: pieces)
            var count = 0
            for piece in pieces.prefix(filled) {
                received.append(contentsOf: UnsafeRawBufferPointer(start: piece.base, count: piece.count))
                count += piece.count
            }
            bus.engine.sent(connection, count)
        }
        return true
    }

    /// Gives the engine what it is ready to read; true if there was something.
    func offerInput() -> Bool {
        guard !isEnded, !toSend.isEmpty, case .reading = bus.engine.status(of: connection) else {
            return false
        }
        let bytes = toSend
        toSend = []
        bytes.withUnsafeBytes { bus.engine.receive(connection, $0) }
        return true
    }

    /// Ends when the engine has said goodbye and everything is taken; true if so.
    func endIfClosing() -> Bool {
        guard !isEnded, case .closing = bus.engine.status(of: connection),
            !bus.engine.hasOutput(connection)
        else { return false }
        isEnded = true
        bus.engine.disconnect(connection)
        return true
    }
}
