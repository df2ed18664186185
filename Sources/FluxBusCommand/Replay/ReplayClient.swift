import BusEngine
import BusJSON

/// A connection to an engine in memory that asks one thing at a time.
final class ReplayClient {
    private let engine: Engine
    private let connection: ConnectionID

    /// A client on a Unix socket with this user id, or one that nothing is known of.
    init(_ engine: Engine, uid: Int?) {
        self.engine = engine
        if let uid {
            connection = engine.connect(.unix(uid: uid, pid: 1))
        } else {
            connection = engine.connect(.tcp(address: "replay"))
            _ = ask("{\"op\":\"hello\",\"token\":\"replay\"}")
        }
    }

    /// The reply to a request.
    func ask(_ line: String) -> JSON {
        var line = line + "\n"
        line.withUTF8 { engine.receive(connection, UnsafeRawBufferPointer($0)) }
        engine.serveAll()
        engine.takeReady { _ in }
        var reply: [UInt8] = []
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 16) { pieces in
            while engine.hasOutput(connection) {
                var count = 0
                for piece in pieces.prefix(engine.output(of: connection, into: pieces)) {
                    reply.append(contentsOf: UnsafeRawBufferPointer(start: piece.base, count: piece.count))
                    count += piece.count
                }
                engine.sent(connection, count)
            }
        }
        // All of it is one reply, with the line's end.
        return (try? JSON(parsing: Array(reply.dropLast()), depthLimit: 512)) ?? .null
    }
}
