import BusEngine
import BusJSON

/// One client of a `MemoryBus`: it sends lines and keeps the lines it receives until the test looks at them.
package final class MemoryClient {
    // The client keeps its bus alive; the bus knows only the endpoint.
    private let bus: MemoryBus
    private let endpoint: MemoryEndpoint

    init(bus: MemoryBus, endpoint: MemoryEndpoint) {
        self.bus = bus
        self.endpoint = endpoint
    }

    package var connection: ConnectionID { endpoint.connection }
    /// The connection is closed, by whomever.
    package var isEnded: Bool { endpoint.isEnded }
    /// Whether its socket takes nothing while it does not read.
    package var isFullWhenNotReading: Bool {
        get { endpoint.isFullWhenNotReading }
        set { endpoint.isFullWhenNotReading = newValue }
    }

    /// When false, nothing of what the engine has for it is taken, as from a client that does not read.
    package var isReading: Bool {
        get { endpoint.isReading }
        set {
            endpoint.isReading = newValue
            bus.settle()
        }
    }

    // MARK: Sending

    /// Sends a line, whatever it holds.
    package func send(_ line: String) { send(bytes: Array(line.utf8) + [10]) }

    /// Sends a line that the bus reads with whatever it does next, as lines of several clients come in one turn.
    package func queue(_ line: String) { endpoint.toSend += Array(line.utf8) + [10] }

    package func send(bytes: [UInt8]) {
        endpoint.toSend += bytes
        bus.settle()
    }

    /// Ends the connection as a process does that goes.
    package func close() {
        endpoint.end()
        bus.settle()
    }

    /// Finishes sending but still reads.
    package func finishSending() {
        bus.engine.endOfInput(connection)
        bus.settle()
    }

    // MARK: Receiving

    /// The next line; nil when nothing has come.
    package func nextLine() -> String? { endpoint.nextLine() }

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
}
