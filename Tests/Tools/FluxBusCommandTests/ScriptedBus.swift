import BusJSON
import Dispatch
import Synchronization
import TestServer

/// A server that answers each line by a script: what tests talk to where no daemon is needed.
///
/// It takes connections one after the other. The script gets a line and gives the lines to answer with; nil, or
/// `hangUp` behind answers, ends the connection. It listens until it is stopped or let go.
final class ScriptedBus: Sendable {
    private let listener: LineListener
    private let queue = DispatchQueue(label: "scripted bus")
    private let conversation: Conversation

    var address: String { listener.address }

    /// Every line received so far.
    var received: [String] { conversation.lines.withLock { $0 } }

    /// An answer that ends the connection.
    static let hangUp = "hang up"

    init(overTCP: Bool = false, _ script: @escaping @Sendable (String) -> [String]?) throws {
        listener = try LineListener(overTCP: overTCP)
        conversation = Conversation(script: script)
        // Not this bus itself, which could then never be let go.
        queue.async { [listener, conversation] in
            while let peer = listener.accept() { conversation.hold(with: peer) }
            listener.close()
        }
    }

    deinit { endListening() }

    /// Takes no further connection.
    func endListening() { listener.endListening() }

    /// Ends the listening, and returns when everything that was sent has been received.
    func stop() {
        endListening()
        queue.sync {}
    }

    /// What the queue does with connections.
    private final class Conversation: Sendable {
        let lines = Mutex<[String]>([])
        private let script: @Sendable (String) -> [String]?

        init(script: @escaping @Sendable (String) -> [String]?) { self.script = script }

        func hold(with peer: LinePeer) {
            while let line = peer.line() {
                lines.withLock { $0.append(line) }
                guard let answers = script(line) else { return }
                for answer in answers {
                    guard answer != ScriptedBus.hangUp, peer.send(answer) else { return }
                }
            }
        }
    }

    /// A reply to `line` with these members: `{"id":…,"ok":true,…}`.
    static func reply(to line: String, _ members: JSONObject = [:]) -> String {
        var reply = members
        reply["id"] = (try? JSON(parsing: line))?["id"]
        reply["ok"] = true
        return reply.encoded
    }

    /// A refusal of `line`.
    static func refusal(of line: String, _ code: String, _ message: String = "No.") -> String {
        var reply: JSONObject = [
            "ok": false, "error": ["code": .string(code), "message": .string(message)],
        ]
        reply["id"] = (try? JSON(parsing: line))?["id"]
        return reply.encoded
    }

    static func op(of line: String) -> String { (try? JSON(parsing: line))?["op"]?.string ?? "" }
}
