import BusJSON
import BusProtocol

/// What had been said of commits that did not happen is taken back, before anybody has heard it.
extension Engine {
    /// What was about to leave on one connection, looked through.
    private struct TakenBack {
        /// Replies as they now are, and the goodbye: what follows their newline, in order.
        var lines: [(place: Int, bytes: [UInt8])] = []
        /// Subscriptions whose reply was among it.
        var made: Set<Int> = []
        /// Subscriptions that will not hear what they were told, and the first revision of it.
        var unheard: [Int: Int] = [:]
        /// Something could not be read, and may have been for any of them.
        var isUnclear = false
    }

    func takeBack(what connection: Connection) {
        connection.isHeld = false
        let shared = connection.outbox.sharedCount
        let held = connection.outbox.takeBackHeld()
        sharedOutboxBytes -= shared - connection.outbox.sharedCount
        outboxBytes -= held.count
        let start = connection.outbox.total
        var taken = look(through: held, from: start)
        // Those that wanted no answer, in their places: one that stands where a reply does came before it.
        for dispatch in connection.silent where dispatch.revision > revision {
            let refusal = refusal(try? JSON(parsing: dispatch.id))
            let place = taken.lines.firstIndex { $0.place >= dispatch.place } ?? taken.lines.count
            // The place after this one's own, so that the next with the same place comes behind it.
            taken.lines.insert((dispatch.place - 1, refusal), at: place)
        }
        connection.silent = []
        takeBackReply(of: connection, &taken)
        for subscription in connection.subscriptions where taken.made.contains(subscription.number) {
            detach(subscription)
        }
        connection.subscriptions.removeAll { taken.made.contains($0.number) }
        for line in taken.lines {
            write(to: connection) { writer in
                line.bytes.withUnsafeBytes { writer.append($0) }
                writer.append(UInt8(ascii: "\n"))
            }
        }
        for subscription in connection.subscriptions {
            let unheard = taken.unheard[subscription.number] ?? (taken.isUnclear ? 0 : nil)
            if subscription.shape.key.actions {
                tellAgain(subscription, from: unheard)
            } else {
                beginAnew(subscription, hasMissed: unheard != nil)
            }
        }
    }

    private func look(through held: [UInt8], from start: Int) -> TakenBack {
        var taken = TakenBack()
        held.withUnsafeBytes { bytes in
            LogLines.forEach(in: bytes) { line in
                if line.isEmpty { return }
                guard let message = (try? JSON(parsing: line, depthLimit: Self.depthOfOutput))?.object else {
                    taken.isUnclear = true
                    return
                }
                let place = start + (line.baseAddress! - bytes.baseAddress!)
                if message["ok"] != nil {
                    taken.lines.append(
                        (place, Self.isBare(message) ? Array(line) : refusal(message["id"])))
                    if let sub = message["sub"]?.int { taken.made.insert(sub) }
                } else if let sub = message["sub"]?.int {
                    let told = message["revision"]?.int ?? 0
                    taken.unheard[sub] = min(taken.unheard[sub] ?? told, told)
                } else if message["event"] == "goodbye" {
                    taken.lines.append((place, Array(line)))
                }
            }
        }
        return taken
    }

    /// States nest less than this, and so do requests.
    private static let depthOfOutput = 1024

    /// The reply that waited for changes before it, or for the log.
    private func takeBackReply(of connection: Connection, _ taken: inout TakenBack) {
        if let reply = connection.heldReply {
            connection.heldReply = nil
            let message = (try? JSON(parsing: reply, depthLimit: Self.depthOfOutput))?.object
            if let sub = message?["sub"]?.int { taken.made.insert(sub) }
            taken.lines.append((.max, refusal(message?["id"])))
        }
        guard let question = connection.question else { return }
        connection.question = nil
        if case .actions = question.purpose { return }
        taken.lines.append((.max, refusal(question.id.isEmpty ? nil : try? JSON(parsing: question.id))))
    }

    /// Told nothing that hangs on a commit: `ping`, `will`, `unsubscribe`.
    private static func isBare(_ reply: JSONObject) -> Bool {
        reply["ok"] == true && reply.members.allSatisfy { $0.key == "ok" || $0.key == "id" }
    }

    /// Without its newline.
    private func refusal(_ id: JSON?) -> [UInt8] {
        var reply = JSONObject()
        if let id { reply["id"] = id }
        reply["ok"] = false
        let message = trouble ?? ""
        reply["error"] = ["code": .string(ErrorCode.unavailable.rawValue), "message": .string(message)]
        statistics.errors[ErrorCode.unavailable.rawValue, default: 0] += 1
        return Array(reply.encoded.utf8)
    }

    /// A subscription to actions: those of commits that stand are told again, from the log; the others did not happen.
    private func tellAgain(_ subscription: Subscription, from unheard: Int?) {
        if subscription.toldThrough == nil {
            guard let unheard, unheard <= revision else { return }
            subscription.connection.behind += 1
        }
        let told = min(subscription.toldThrough ?? revision, (unheard ?? .max) - 1, revision)
        subscription.toldThrough = max(0, told)
        subscription.connection.isBlocked = true
    }

    /// A subscription to states that was told, or was about to be told, of what has not happened.
    private func beginAnew(_ subscription: Subscription, hasMissed: Bool) {
        guard hasMissed || subscription.from > revision || subscription.catchUp != nil else { return }
        if subscription.catchUp != nil { endLagging(subscription) }
        subscription.from = min(subscription.from, revision)
        beginLagging(
            subscription,
            CatchUp(reset: true, evenIfEmpty: true, dropsAfter: revision, floor: 0, ceiling: sequence))
    }
}
