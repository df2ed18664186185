import BusJSON
import BusLogic
import BusProtocol

/// A group could not be written: the bus is what it was at the last durable revision, and whoever was about to be told
/// otherwise hears that it was not done.
extension Engine {
    /// Returns to a revision. `past` holds the bus at that revision, as the log gives it, and is used up. Until
    /// `resumeCommits`, what would commit is refused with `trouble`; everything else goes on.
    package func rewind(to past: Engine, trouble: String) {
        endCohorts()
        let ended = (inFlight?.ends ?? []) + gathering.ends
        inFlight = nil
        gathering.begin(after: past.revision)
        gathering.connections = []
        waitingForLog = []
        self.trouble = trouble
        takePlace(of: past)
        findSessions(in: past, ended: ended)
        rejoinShapes()
        for case let connection? in connections { takeBack(what: connection) }
        for case let connection? in connections {
            release(connection)
            markReady(connection)
            settle(connection)
        }
    }

    /// The log takes commits again: what had to wait is carried out.
    package func resumeCommits() {
        guard trouble != nil else { return }
        trouble = nil
        for case let connection? in connections where !connection.will.isEmpty { logWill(of: connection) }
        let ends = endsToCome
        endsToCome = []
        for connection in ends { carryOutEnd(of: connection) }
    }

    // MARK: - The states

    private func takePlace(of past: Engine) {
        stores = past.stores
        types = past.types
        typesByName = past.typesByName
        commitOrder = past.commitOrder
        lastType = nil
        dropLog = past.dropLog
        stateBytes = past.stateBytes
        revision = past.revision
        durableRevision = past.revision
        sequence = past.sequence
        sequenceBefore = past.sequence
        keys = past.keys
        identities = past.identities
        actors = [:]
        for case let connection? in connections + endsToCome {
            guard let identity = connection.identity else { continue }
            let index = identities[identity] ?? Int32(identities.count)
            identities[identity] = index
            connection.identityIndex = index
        }
    }

    /// Whose the ephemeral stores are, and who has still to be ended.
    private func findSessions(in past: Engine, ended: [Connection]) {
        let gone = ended + endsToCome
        for case let connection? in connections { connection.ephemeralStores = [] }
        for connection in gone { connection.ephemeralStores = [] }
        for (number, session) in past.pastConnections {
            let live = connections.indices.contains(number) ? connections[number] : nil
            // The number may be in use again; its stores are those of who had it then.
            let owner = gone.first { $0.id == number } ?? live
            owner?.ephemeralStores = session.ephemeralStores
        }
        endsToCome = gone
    }

    private func rejoinShapes() {
        membershipCount = 0
        for shape in shapes.values {
            shape.leaveAll()
            shape.lastTold = min(shape.lastTold, revision)
            if shape.wantsWholeTypes {
                for entry in types where shape.key.pattern.type.matches(entry.name) {
                    entry.shapes.append(shape)
                }
            } else {
                enlistMembers(in: shape)
            }
        }
    }

    // MARK: - What was said

    private func takeBack(what connection: Connection) {
        connection.isHeld = false
        let held = connection.outbox.takeBackHeld()
        outboxBytes -= held.count
        var answers: [(place: Int, reply: [UInt8])] = []
        var unheard: Set<Int> = []
        var made: Set<Int> = []
        let start = connection.outbox.total
        held.withUnsafeBytes { bytes in
            LogLines.forEach(in: bytes) { line in
                guard !line.isEmpty, let message = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
                    return
                }
                let place = start + (line.baseAddress! - bytes.baseAddress!)
                if message["ok"] != nil {
                    answers.append((place, Self.isBare(message) ? Array(line) : refusal(message["id"])))
                    if let sub = message["sub"]?.int { made.insert(sub) }
                } else if message["event"] == "action" || message["event"] == "gap" {
                    if let sub = message["sub"]?.int { unheard.insert(sub) }
                }
            }
        }
        for dispatch in connection.silent where dispatch.place >= start {
            let id = try? JSON(parsing: dispatch.id)
            let place = answers.firstIndex { $0.place >= dispatch.place } ?? answers.count
            answers.insert((dispatch.place, refusal(id)), at: place)
        }
        connection.silent = []
        if let reply = connection.heldReply {
            connection.heldReply = nil
            let message = (try? JSON(parsing: reply))?.object
            if let sub = message?["sub"]?.int { made.insert(sub) }
            answers.append((.max, refusal(message?["id"])))
        }
        if let question = connection.question {
            connection.question = nil
            if case .actions = question.purpose {
            } else {
                answers.append((.max, refusal(question.id.isEmpty ? nil : try? JSON(parsing: question.id))))
            }
        }
        for subscription in connection.subscriptions where made.contains(subscription.number) {
            detach(subscription)
        }
        connection.subscriptions.removeAll { made.contains($0.number) }
        for answer in answers {
            write(to: connection) { writer in
                answer.reply.withUnsafeBytes { writer.append($0) }
                writer.append(UInt8(ascii: "\n"))
            }
        }
        for subscription in connection.subscriptions { beginAnew(subscription, missed: unheard) }
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

    /// A subscription that was told, or was about to be told, of what has not happened.
    private func beginAnew(_ subscription: Subscription, missed: Set<Int>) {
        if subscription.shape.key.actions {
            if missed.contains(subscription.number) { tellGap(subscription, at: revision) }
            if let told = subscription.toldThrough {
                subscription.toldThrough = min(told, revision)
                subscription.connection.isBlocked = true
            }
            return
        }
        guard subscription.from > revision || subscription.catchUp != nil else { return }
        if subscription.catchUp != nil { endLagging(subscription) }
        subscription.from = min(subscription.from, revision)
        beginLagging(
            subscription,
            CatchUp(reset: true, evenIfEmpty: true, dropsAfter: revision, floor: 0, ceiling: sequence))
    }
}
