import BusJSON
import BusLogic

// PROVISIONAL: the outer face of the engine, fixed so that the server can be written beside it.

/// Who is at the other end of a connection.
package enum Peer: Sendable, Equatable {
    /// A Unix socket: the kernel's word.
    case unix(uid: Int, pid: Int)
    /// TCP: nobody until a `hello` with a token came. `address` is `HOST:PORT`.
    case tcp(address: String)
}

/// A connection's number in the engine; reused after `disconnect`.
package typealias ConnectionID = Int

/// A piece of output, laid out as the C library's `iovec`.
package struct OutputPiece {
    package var base: UnsafeRawPointer?
    package var count: Int
}

/// What the owner of a socket should do with it now.
package enum ConnectionStatus: Sendable {
    /// Read more when there is more.
    case reading
    /// Its outbox is full or it has unfinished business: don't read, only write.
    case blocked
    /// Write what is left, then close the socket and call `disconnect`.
    case closing
}

/// Why the daemon ends a connection.
package enum GoodbyeCode: String, Sendable {
    case shutdown, restart, slow_consumer, limit, `protocol`
}

package struct EngineConfiguration {
    package var limits = Limits()
    /// A UUID naming this history.
    package var epoch: String
    /// The daemon's own uid: together with 0 it may reload and drop configured stores.
    package var ownUID: Int
    package var version: String
    /// The name that a token stands for; nil for an unknown one.
    package var tokenName: (String) -> String? = { _ in nil }
    /// Reads the definitions anew for `reload`; throws a `ReloadFailure` with a sentence.
    package var loadTypes: () throws(ReloadFailure) -> [any StateType] = { () throws(ReloadFailure) in
        throw ReloadFailure(message: "This bus has no types directory to reload.")
    }
    /// Told about things an operator should know: a rejected will, a slow consumer that was cut off.
    package var report: (EngineNote) -> Void = { _ in }

    package init(epoch: String, ownUID: Int, version: String) {
        self.epoch = epoch
        self.ownUID = ownUID
        self.version = version
    }
}

package struct ReloadFailure: Error {
    package var message: String
    package init(message: String) { self.message = message }
}

/// Something for the operator's log.
package struct EngineNote: Sendable {
    package enum Level: Sendable { case info, notice, warning, error }
    package var level: Level
    package var message: String
    /// The client concerned, if one is.
    package var connection: ConnectionID?
}

/* The methods:

package final class Engine {
    package init(_ configuration: EngineConfiguration, types: [any StateType])

    // Time is given, never read: milliseconds since 1970, never going back (the caller clamps).
    package func beginTurn(at milliseconds: Int)

    // A configured store: created at start, by the daemon. Throws EngineError (code, message).
    package func createConfigured(_ address: String) throws(RequestError)

    // Connections. `unix` ones are open at once, `tcp` ones must say hello first.
    package func connect(_ peer: Peer) -> ConnectionID
    // Bytes that came in; complete lines are carried out, a partial one is kept. The bytes are borrowed.
    // Call only while status is .reading.
    package func receive(_ connection: ConnectionID, _ bytes: UnsafeRawBufferPointer)
    // The peer has finished sending: what is complete is answered, then the status becomes .closing.
    package func endOfInput(_ connection: ConnectionID)
    // The socket is gone (closed by us or by them): runs the will and drops, forgets the connection.
    package func disconnect(_ connection: ConnectionID)
    package func status(of connection: ConnectionID) -> ConnectionStatus
    // Says goodbye: the event is queued and the status becomes .closing.
    package func goodbye(_ connection: ConnectionID, _ code: GoodbyeCode, _ message: String)

    // Output. After each turn: for every connection in takeReady(), write output until there is none or the
    // socket is full, telling `sent`; then look at status.
    package func takeReady(_ body: (ConnectionID) -> Void)      // connections with new output or a new status
    package func output(of: ConnectionID, into: UnsafeMutableBufferPointer<OutputPiece>) -> Int  // pieces filled
    package func sent(_ connection: ConnectionID, _ count: Int) // may bring more output (merged changes, waiting requests)
    package func hasOutput(_ connection: ConnectionID) -> Bool

    // When endTurn must next be called even if nothing comes in (bookmarks); nil: never.
    package var nextDeadline: Int? { get }
    package func tick()       // does what is due at the turn's time

    package var revision: Int { get }
    package var storeCount: Int, connectionCount: Int { get }
}
*/
