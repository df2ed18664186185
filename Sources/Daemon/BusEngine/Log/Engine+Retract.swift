import BusJSON
import BusMachine
import BusProtocol

/// Retracts the output about commits that were rolled back, before any client has received it.
extension Engine {
    /// The unsent output of one connection, examined.
    private struct Retraction {
        /// Replies as they are now, and the goodbye: the bytes after their newline, in order.
        var lines: [(place: Int, bytes: [UInt8])] = []
        /// Subscriptions whose reply was among it.
        var made: Set<Int> = []
        /// Subscriptions that will not receive events written for them, and the first revision of those.
        var unheard: [Int: Int] = [:]
        /// Something could not be parsed, and may have been for any of them.
        var isUnclear = false
    }

    func retract(_ connection: Connection) {
        connection.unwritten.endHold()
        let held = connections.retract(connection)
        var retraction = look(through: held, from: connection.output.outbox.total)
        // Unacknowledged dispatches, in order: one at the same place as a reply came before it.
        for dispatch in connection.unwritten.dispatches where dispatch.revision > machine.revision {
            let refusal = refusal(try? JSON(parsing: dispatch.id))
            let place = retraction.lines.firstIndex { $0.place >= dispatch.place } ?? retraction.lines.count
            // The place before its own, so that the next with the same place comes behind it.
            retraction.lines.insert((dispatch.place - 1, refusal), at: place)
        }
        connection.unwritten.forgetDispatches()
        retractReply(of: connection, &retraction)
        for subscription in connection.delivery.subscriptions
        where retraction.made.contains(subscription.number) {
            hub.detach(subscription)
        }
        connection.delivery.remove { retraction.made.contains($0.number) }
        for line in retraction.lines {
            connections.write(to: connection) { writer in
                line.bytes.withUnsafeBytes { writer.append($0) }
                writer.append(UInt8(ascii: "\n"))
            }
        }
        for subscription in connection.delivery.subscriptions {
            let unheard = retraction.unheard[subscription.number] ?? (retraction.isUnclear ? 0 : nil)
            if subscription.group.key.actions {
                hub.rewindActions(subscription, from: unheard)
            } else {
                hub.restart(subscription, hasMissed: unheard != nil)
            }
        }
    }

    private func look(through held: [UInt8], from start: Int) -> Retraction {
        var retraction = Retraction()
        held.withUnsafeBytes { bytes in
            LogLines.forEach(in: bytes) { line in
                if line.isEmpty { return }
                guard let message = (try? JSON(parsing: line, depthLimit: Self.depthOfOutput))?.object else {
                    retraction.isUnclear = true
                    return
                }
                let place = start + (line.baseAddress! - bytes.baseAddress!)
                if message["ok"] != nil {
                    retraction.lines.append(
                        (place, Self.isBare(message) ? Array(line) : refusal(message["id"])))
                    if let sub = message["sub"]?.int { retraction.made.insert(sub) }
                } else if let sub = message["sub"]?.int {
                    let told = message["revision"]?.int ?? 0
                    retraction.unheard[sub] = min(retraction.unheard[sub] ?? told, told)
                } else if message["event"] == "goodbye" {
                    retraction.lines.append((place, Array(line)))
                }
            }
        }
        return retraction
    }

    /// States nest less than this, and so do requests.
    private static let depthOfOutput = 1024

    /// Retracts the reply that waited for changes before it, or for the log.
    private func retractReply(of connection: Connection, _ retraction: inout Retraction) {
        if let reply = connection.output.heldReply {
            connections.hold(reply: nil, of: connection)
            let message = (try? JSON(parsing: reply, depthLimit: Self.depthOfOutput))?.object
            if let sub = message?["sub"]?.int { retraction.made.insert(sub) }
            retraction.lines.append((.max, refusal(message?["id"])))
        }
        guard let query = connection.query else { return }
        connection.endQuery()
        if case .actions = query.purpose { return }
        retraction.lines.append((.max, refusal(query.id.isEmpty ? nil : try? JSON(parsing: query.id))))
    }

    /// Whether the reply depends on no commit: `ping`, `will`, `unsubscribe`.
    private static func isBare(_ reply: JSONObject) -> Bool {
        reply["ok"] == true && reply.members.allSatisfy { $0.key == "ok" || $0.key == "id" }
    }

    /// The bytes of a refusal, without its newline.
    private func refusal(_ id: JSON?) -> [UInt8] {
        var reply = JSONObject()
        if let id { reply["id"] = id }
        reply["ok"] = false
        let message = log.unavailableReason ?? ""
        reply["error"] = ["code": .string(ErrorCode.unavailable.rawValue), "message": .string(message)]
        totals.errors[ErrorCode.unavailable.rawValue, default: 0] += 1
        return Array(reply.encoded.utf8)
    }
}
