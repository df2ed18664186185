import BusJSON
import BusMachine
import BusProtocol

/// The output of one connection about commits that were rolled back, which no client has received: what took it back, and what
/// takes its place.
struct Retraction {
    /// Replies as they are now, and the goodbye: the bytes after their newline, in order.
    private var lines: [(place: Int, bytes: [UInt8])] = []
    /// Subscriptions whose reply was among it.
    private(set) var made: Set<Int> = []
    /// Subscriptions that will not receive events written for them, and the first revision of those.
    private var unheard: [Int: Int] = [:]
    /// Something could not be parsed, and may have been for any of them.
    private var isUnclear = false
    /// How many replies are refusals now.
    private(set) var refusals = 0
    /// Why.
    private let reason: String

    /// Takes back the output of a connection that waits for the log, and the replies that it waits for. `revision`: the last
    /// one that was not rolled back.
    init(from connection: Connection, _ connections: Connections, to revision: Int, because reason: String) {
        self.reason = reason
        connection.unwritten.endHold()
        let held = connections.retract(connection)
        look(through: held, from: connection.output.outbox.total)
        // Unacknowledged dispatches, in order: one at the same place as a reply came before it.
        for dispatch in connection.unwritten.dispatches where dispatch.revision > revision {
            let refusal = refusal(try? JSON(parsing: dispatch.id))
            let place = lines.firstIndex { $0.place >= dispatch.place } ?? lines.count
            // The place before its own, so that the next with the same place comes behind it.
            lines.insert((dispatch.place - 1, refusal), at: place)
        }
        connection.unwritten.forgetDispatches()
        retractReply(of: connection, connections)
    }

    /// From which revision on a subscription has missed events; nil: it has missed none.
    func firstUnheard(by subscription: Subscription) -> Int? {
        unheard[subscription.number] ?? (isUnclear ? 0 : nil)
    }

    /// Writes what takes its place.
    func write(to connection: Connection, _ connections: Connections) {
        for line in lines {
            connections.write(to: connection) { writer in
                line.bytes.withUnsafeBytes { writer.append($0) }
                writer.append(UInt8(ascii: "\n"))
            }
        }
    }

    private mutating func look(through held: [UInt8], from start: Int) {
        held.withUnsafeBytes { bytes in
            LogLines.forEach(in: bytes) { line in
                if line.isEmpty { return }
                guard let message = (try? JSON(parsing: line, depthLimit: Self.depthOfOutput))?.object else {
                    isUnclear = true
                    return
                }
                let place = start + (line.baseAddress! - bytes.baseAddress!)
                if message["ok"] != nil {
                    lines.append((place, Self.isBare(message) ? Array(line) : refusal(message["id"])))
                    if let sub = message["sub"]?.int { made.insert(sub) }
                } else if let sub = message["sub"]?.int {
                    let told = message["revision"]?.int ?? 0
                    unheard[sub] = min(unheard[sub] ?? told, told)
                } else if message["event"] == "goodbye" {
                    lines.append((place, Array(line)))
                }
            }
        }
    }

    /// States nest less than this, and so do requests.
    private static let depthOfOutput = 1024

    /// Retracts the reply that waited for changes before it, or for the log.
    private mutating func retractReply(of connection: Connection, _ connections: Connections) {
        if let reply = connection.output.heldReply {
            connections.hold(reply: nil, of: connection)
            let message = (try? JSON(parsing: reply, depthLimit: Self.depthOfOutput))?.object
            if let sub = message?["sub"]?.int { made.insert(sub) }
            lines.append((.max, refusal(message?["id"])))
        }
        guard let query = connection.query else { return }
        connection.endQuery()
        if case .actions = query.purpose { return }
        lines.append((.max, refusal(query.id.isEmpty ? nil : try? JSON(parsing: query.id))))
    }

    /// Whether the reply depends on no commit: `ping`, `will`, `unsubscribe`.
    private static func isBare(_ reply: JSONObject) -> Bool {
        reply["ok"] == true && reply.members.allSatisfy { $0.key == "ok" || $0.key == "id" }
    }

    /// The bytes of a refusal, without its newline.
    private mutating func refusal(_ id: JSON?) -> [UInt8] {
        var reply = JSONObject()
        if let id { reply["id"] = id }
        reply["ok"] = false
        reply["error"] = ["code": .string(ErrorCode.unavailable.rawValue), "message": .string(reason)]
        refusals += 1
        return Array(reply.encoded.utf8)
    }
}
