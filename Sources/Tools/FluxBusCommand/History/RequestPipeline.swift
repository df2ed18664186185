import BusJSON
import FluxBus

/// Sends requests one after the other without waiting for each reply. Replies come in request order, and
/// each goes to its own closure.
///
/// At most `window` requests are unanswered and few bytes unsent, so memory stays small however slow the bus is.
final class RequestPipeline {
    typealias Settle = (Result<JSONObject, BusError>) throws -> Void

    private let session: CommandSession
    private let connection: BusConnection
    private let window: Int
    private var pending: [(id: Int, settle: Settle)] = []
    private var settled = 0
    private var ending: BusError?

    /// How many bytes may wait to be sent.
    private static let mostUnsent = 256 << 10

    init(_ session: CommandSession, _ connection: BusConnection, window: Int = 256) {
        self.session = session
        self.connection = connection
        self.window = window
    }

    private var unanswered: Int { pending.count - settled }

    /// Sends a request. An error thrown by `settle` ends the sending, here or in a later call.
    func send(_ request: BusRequest, _ settle: @escaping Settle) throws {
        pending.append((connection.queue(request), settle))
        if unanswered >= window {
            try takeReplies(leaving: window / 2)
        } else if connection.unsentBytes > Self.mostUnsent {
            try connection.flush(until: session.replyDeadline)
        }
    }

    /// Waits until everything has been answered.
    func finish() throws { try takeReplies(leaving: 0) }

    /// Releases the closures that wait for replies: they may hold the owner of this object.
    func abandon() {
        pending = []
        settled = 0
    }

    private func takeReplies(leaving left: Int) throws {
        try connection.flush(until: session.replyDeadline)
        while unanswered > left { try takeLine() }
        pending.removeFirst(settled)
        settled = 0
    }

    private func takeLine() throws {
        let line: [UInt8]
        do throws(BusError) {
            line = try connection.receiveLine(until: session.replyDeadline)
        } catch {
            throw error.code == .closed ? ending ?? error : error
        }
        switch try BusMessage(parsing: line) {
        case .event("goodbye", let event):
            ending = BusError(.closed, event["message"]?.string ?? "The bus ended the connection.")
        case .event: break
        case .reply(let reply):
            let request = pending[settled]
            let isFine = reply["ok"]?.bool == true
            // A line that the bus does not read, such as one that is too long, is refused without its id.
            guard reply["id"] == .int(request.id) || !isFine && reply["id"] == nil else {
                throw BusError(.unexpectedReply, "A reply came that belongs to another request.")
            }
            settled += 1
            try request.settle(isFine ? .success(reply) : .failure(BusError(reply: reply["error"])))
        }
    }
}
