import BusJSON
import FluxBus

/// `fluxbus dispatch -`: requests from standard input to the bus, replies to standard output, in order.
///
/// Both directions move at once, and at most `window` requests are unanswered, so neither side's memory grows however
/// fast the other is. Lines are sent unchanged (also malformed ones: the bus answers them), except for those without an
/// `op`, which become dispatches.
///
/// Every request has one reply, so counting replies shows how many are answered. Once a request has asked for no
/// acknowledgement, that is only a lower bound; from then on a ping of our own follows every few requests, and its
/// reply settles all before it.
final class RequestStream {
    /// How many requests may be unanswered: enough to keep a bus busy over any local distance.
    static let window = 1024
    /// How many bytes may wait for the socket: a bus that reads nothing must not fill our memory.
    private static let mostUnsent = 1 << 20
    /// After how many requests a ping follows once replies can't be counted.
    private static let markerInterval = 256
    /// An `id` that no request of a user has.
    private static let markerName = "fluxbus:marker:"

    private let session: CommandSession
    private let connection: BusConnection
    private let withoutAcknowledgement: Bool

    /// Requests sent, and how many of those are known to be answered at least.
    private var sent = 0
    private var settled = 0
    private var needsMarkers = false
    private var lastMarker = 0
    /// The reader of the replies has left.
    private var isUnread = false
    private var input = InputLines()
    private var worst = CommandStatus.success

    init(session: CommandSession, withoutAcknowledgement: Bool) throws {
        self.session = session
        self.withoutAcknowledgement = withoutAcknowledgement
        connection = try session.connect()
    }

    func run() throws -> CommandStatus {
        do {
            return try exchange()
        } catch let error as BusError where sent > settled {
            throw CommandFailure.unanswered(open, error)
        }
    }

    private func exchange() throws -> CommandStatus {
        var deadline = Deadline.never
        while true {
            try takeReplies()
            if isUnread, sent != settled { throw unread }
            try sendRequests()
            if input.hasEnded, sent == settled { return worst }
            try session.console.flush()
            let wantsInput = !input.hasEnded && hasRoom
            // The deadline runs only while the bus owes an answer.
            deadline = sent == settled ? .never : session.replyDeadline
            let wakeup = try connection.wait(
                input: wantsInput ? session.context.input : nil,
                output: isUnread ? nil : session.console.output.descriptor, until: deadline)
            if wakeup.outputClosed { isUnread = true }
            if wakeup.input { try input.read(session.context.input) }
            if !wakeup.incoming, !wakeup.input, deadline.hasPassed {
                throw BusError(.timedOut, "The bus did not answer within \(session.options.timeout).")
            }
        }
    }

    private var open: String {
        "\(sent - settled) requests were not answered, and may have been committed or not; look before you send them again"
    }

    private var unread: CommandFailure {
        let advice = sent == settled ? "" : " (\(open))"
        return CommandFailure(
            .unreachable, "Nobody reads the replies any more\(advice); send the rest again.")
    }

    private var hasRoom: Bool { sent - settled < Self.window && connection.unsentBytes < Self.mostUnsent }

    // MARK: - Out

    private func sendRequests() throws {
        while hasRoom, let line = try input.next() {
            // Where all have been answered and read, only another one fails.
            if isUnread { throw unread }
            try send(line)
        }
        if input.hasEnded, needsMarkers, lastMarker < sent { sendMarker() }
    }

    private func send(_ line: [UInt8]) throws {
        let request = RequestLine(line, withoutAcknowledgement: withoutAcknowledgement)
        request.bytes.withUnsafeBytes { connection.queue(line: $0) }
        sent += 1
        if !request.isAcknowledged, !needsMarkers {
            needsMarkers = true
            lastMarker = settled
        }
        if needsMarkers, sent - lastMarker >= Self.markerInterval { sendMarker() }
    }

    private func sendMarker() {
        lastMarker = sent
        let line = "{\"op\":\"ping\",\"id\":\"\(Self.markerName)\(sent)\"}"
        Array(line.utf8).withUnsafeBytes { connection.queue(line: $0) }
    }

    // MARK: - In

    private func takeReplies() throws {
        while let line = connection.receiveLineIfReady() {
            guard case .reply(let reply) = try BusMessage(parsing: line) else { continue }
            if let marker = reply["id"]?.string, marker.hasPrefix(Self.markerName) {
                settled = Int(marker.dropFirst(Self.markerName.count)) ?? settled
                continue
            }
            settled += 1
            try show(line, reply)
        }
    }

    private func show(_ line: [UInt8], _ reply: JSONObject) throws {
        try session.console.output.write(line: line)
        guard reply["ok"]?.bool != true else { return }
        worst = worst.worse(CommandStatus(BusError(reply: reply["error"]).code))
    }
}

/// One line of `dispatch -` on its way to the bus.
struct RequestLine {
    /// The bytes to send, without the line's end.
    let bytes: [UInt8]
    /// False when the bus answers only if it refuses.
    let isAcknowledged: Bool

    /// Completes a line without `op` to a dispatch. A line that is no object is sent unchanged.
    init(_ line: [UInt8], withoutAcknowledgement: Bool) {
        guard let object = try? JSON(parsing: line, depthLimit: 256).object,
            let brace = line.firstIndex(of: 0x7b)
        else {
            bytes = line
            isAcknowledged = true
            return
        }
        var added = ""
        let isDispatch = object["op"].map { $0 == "dispatch" } ?? true
        if object["op"] == nil { added += "\"op\":\"dispatch\"" }
        let addsAck = isDispatch && withoutAcknowledgement && object["ack"] == nil
        if addsAck { added += (added.isEmpty ? "" : ",") + "\"ack\":false" }
        isAcknowledged = !addsAck && (object["ack"] != .bool(false) || !isDispatch)
        if added.isEmpty {
            bytes = line
        } else {
            let separator = object.isEmpty ? "" : ","
            bytes = Array(line[...brace]) + Array((added + separator).utf8) + Array(line[(brace + 1)...])
        }
    }
}
