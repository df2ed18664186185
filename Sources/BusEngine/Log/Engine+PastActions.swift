import BusJSON
import BusProtocol

/// Subscriptions to actions that begin in the past: the log's entries are told, a part at a time while the outbox has
/// room, then what is still in memory, then live ones.
extension Engine {
    /// Begins to tell the actions after a revision.
    func beginPast(_ subscription: Subscription, after revision: Int) {
        subscription.toldThrough = revision
        subscription.connection.behind += 1
        goOnWithPast(of: subscription.connection)
    }

    /// Asks for the next part, or ends with what is in memory. False while there is more to tell.
    @discardableResult
    func goOnWithPast(of connection: Connection) -> Bool {
        while connection.behind > 0, connection.question == nil {
            guard let subscription = connection.subscriptions.first(where: { $0.toldThrough != nil }) else {
                connection.behind = 0
                break
            }
            if connection.outbox.count <= outboxLimit / 2, tellFromMemory(subscription) { continue }
            // It may have filled up just now.
            if connection.outbox.count > outboxLimit / 2 {
                connection.isBlocked = true
                return false
            }
            put(.entries(after: subscription.toldThrough!), .actions(subscription), id: [], connection)
        }
        return connection.behind == 0
    }

    /// A part of the past has come.
    func tellPast(_ answer: LogAnswer, to subscription: Subscription) {
        guard let after = subscription.toldThrough else { return }
        switch answer {
        case .entries(let entries, let through):
            guard through > after else {
                // What is said to stand in the log does not: it can't be read any more.
                tellGap(subscription, at: revision)
                endPast(subscription)
                break
            }
            let told = entries.withUnsafeBytes { tell($0, through: through, to: subscription) }
            subscription.toldThrough = told
        case .gap(let oldest):
            tellGap(subscription, at: oldest)
            subscription.toldThrough = max(after, oldest)
        case .refused, .members, .state:
            // The log can't be read: whoever listens is told that something is missing.
            tellGap(subscription, at: revision)
            endPast(subscription)
        }
        goOnWithPast(of: subscription.connection)
    }

    func tellGap(_ subscription: Subscription, at revision: Int) {
        write(to: subscription.connection) { writer in
            writer.append("{\"event\":\"gap\",\"sub\":")
            writer.append(decimal: subscription.number)
            writer.append(",\"revision\":")
            writer.append(decimal: revision)
            writer.append("}\n")
        }
    }

    func endPast(_ subscription: Subscription) {
        guard subscription.toldThrough != nil else { return }
        subscription.toldThrough = nil
        subscription.connection.behind -= 1
    }

    /// Tells what is still in memory; false when that begins too late, or there is no room for all of it.
    private func tellFromMemory(_ subscription: Subscription) -> Bool {
        let after = subscription.toldThrough!
        if after < revision {
            let groups = writtenGroups + (inFlight.map { [$0] } ?? []) + [gathering]
            guard let first = groups.first(where: { $0.last > after }), first.before <= after else {
                return false
            }
            gathering.closeLatest()
            for group in groups where group.last > after {
                let told = tell(group.entries.bytes, through: group.last, to: subscription)
                subscription.toldThrough = told
                if told < group.last { return false }
            }
        }
        endPast(subscription)
        return true
    }

    /// Tells entries while there is room for them, and gives the revision up to which that was done.
    private func tell(
        _ entries: UnsafeRawBufferPointer, through end: Int, to subscription: Subscription
    ) -> Int {
        let connection = subscription.connection
        var told = subscription.toldThrough!
        var isFull = false
        LogLines.forEach(in: entries) { line in
            guard !isFull, let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object,
                let actions = entry["actions"]?.array, !actions.isEmpty,
                let (first, last) = LogLines.revisions(of: entry), last > told
            else { return }
            let wanted = actions.enumerated().compactMap { index, action in
                action.object.flatMap { wants(subscription.shape, $0) ? (index: index, action: $0) : nil }
            }
            if wanted.isEmpty { return }
            for revision in max(first, told + 1)...last {
                isFull = connection.outbox.count >= outboxLimit
                if isFull { return }
                for (index, action) in wanted {
                    tell(
                        action, of: entry, at: revision, index: actions.count > 1 ? index : nil,
                        to: subscription)
                }
                told = revision
            }
        }
        return isFull ? told : max(told, end)
    }

    private func wants(_ shape: Shape, _ action: JSONObject) -> Bool {
        if let store = action["store"]?.string {
            let parts = store.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
            guard parts.count == 2 else { return false }
            return shape.key.pattern.type.matches(String(Substring(parts[0])))
                && shape.key.pattern.name.matches(String(Substring(parts[1])))
        }
        guard let type = action["type"]?.string else { return false }
        for entry in types where shape.key.pattern.type.matches(entry.name) {
            guard type == "*" || UTF8Order.equal(type, entry.name) else { continue }
            if type == "*", !entry.type.actionNames.contains(action["action"]?.string ?? "") { continue }
            // Which stores there were is not known here: one that has gone since may have seen it.
            return true
        }
        return false
    }

    private func tell(
        _ action: JSONObject, of entry: JSONObject, at revision: Int, index: Int?,
        to subscription: Subscription
    ) {
        write(to: subscription.connection) { writer in
            writer.append("{\"event\":\"action\",\"sub\":")
            writer.append(decimal: subscription.number)
            writer.append(",\"revision\":")
            writer.append(decimal: revision)
            if let index {
                writer.append(",\"index\":")
                writer.append(decimal: index)
            }
            for member in action.members { append(member.key, member.value, to: writer) }
            append("by", entry["by"] ?? .null, to: writer)
            append("time", entry["time"] ?? .null, to: writer)
            writer.append("}\n")
        }
        statistics.events += 1
    }

    private func append(_ name: String, _ value: JSON, to writer: ByteWriter) {
        writer.append(UInt8(ascii: ","))
        writer.append(quoted: name)
        writer.append(UInt8(ascii: ":"))
        writer.append(json: value)
    }
}
