import BusJSON
import BusMachine
import BusProtocol

/// Subscriptions to actions that begin in the past: the log's entries are delivered, a part at a time while the outbox
/// has room, then what is still in memory, then live ones.
extension SubscriptionHub {
    /// Begins to deliver the actions after a revision.
    func beginPast(_ subscription: Subscription, after revision: Int) {
        subscription.deliveredThrough = revision
        subscription.connection.behind += 1
        continuePast(of: subscription.connection)
    }

    /// Queries the next part, or finishes with what is in memory. False while there is more to deliver.
    @discardableResult
    func continuePast(of connection: Connection) -> Bool {
        while connection.behind > 0, connection.query == nil {
            guard let subscription = connection.subscriptions.first(where: { $0.deliveredThrough != nil })
            else {
                connection.behind = 0
                break
            }
            if connection.outbox.count <= connections.outboxLimit(of: connection) / 2,
                deliverFromMemory(subscription)
            {
                continue
            }
            // It may have filled up just now.
            if connection.outbox.count > connections.outboxLimit(of: connection) / 2 {
                connection.isBlocked = true
                return false
            }
            queries.ask(
                .entries(after: subscription.deliveredThrough!), for: .actions(subscription), id: [],
                connection)
        }
        return connection.behind == 0
    }

    /// A part of the past has come.
    func deliverPast(_ answer: LogAnswer, to subscription: Subscription) {
        guard let after = subscription.deliveredThrough else { return }
        switch answer {
        case .entries(let entries, let through):
            guard through > after else {
                // The log lacks entries it should have: they can't be read any more.
                writeGap(to: subscription, at: machine.revision)
                endPast(subscription)
                break
            }
            subscription.deliveredThrough = entries.withUnsafeBytes {
                deliver($0, through: through, to: subscription)
            }
        case .gap(let oldest):
            writeGap(to: subscription, at: oldest)
            subscription.deliveredThrough = max(after, oldest)
        case .refused, .members, .state:
            // The log can't be read: a gap event says that something is missing.
            writeGap(to: subscription, at: machine.revision)
            endPast(subscription)
        }
        continuePast(of: subscription.connection)
    }

    func writeGap(to subscription: Subscription, at revision: Int) {
        connections.write(to: subscription.connection) {
            $0.append(gapOf: subscription.number, revision: revision)
        }
    }

    func endPast(_ subscription: Subscription) {
        guard subscription.deliveredThrough != nil else { return }
        subscription.deliveredThrough = nil
        subscription.connection.behind -= 1
    }

    /// Delivers what is still in memory; false when that begins too late, or there is no room for all of it.
    private func deliverFromMemory(_ subscription: Subscription) -> Bool {
        let after = subscription.deliveredThrough!
        if after < machine.revision {
            let isDone = log.forEachBatch(after: after) { entries, last in
                let delivered = deliver(entries, through: last, to: subscription)
                subscription.deliveredThrough = delivered
                return delivered >= last
            }
            guard isDone else { return false }
        }
        endPast(subscription)
        return true
    }

    /// Delivers entries while there is room for them, and returns the revision up to which that was done.
    private func deliver(
        _ entries: UnsafeRawBufferPointer, through end: Int, to subscription: Subscription
    ) -> Int {
        let connection = subscription.connection
        var delivered = subscription.deliveredThrough!
        var isFull = false
        LogLines.forEach(in: entries) { line in
            guard !isFull, let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object,
                let actions = entry["actions"]?.array, !actions.isEmpty,
                let (first, last) = LogLines.revisions(of: entry), last > delivered
            else { return }
            // What is not shown of a batch is not there.
            let shown = actions.compactMap(\.object).filter { shows($0, to: subscription.group) }
            let wanted = shown.enumerated().compactMap { index, action in
                wants(subscription.group, action) ? (index: index, action: action) : nil
            }
            if wanted.isEmpty { return }
            for revision in max(first, delivered + 1)...last {
                isFull = connection.outbox.count >= connections.outboxLimit(of: connection)
                if isFull { return }
                for (index, action) in wanted {
                    connections.write(to: connection) {
                        $0.append(
                            pastAction: action, of: entry, for: subscription.number, revision: revision,
                            index: shown.count > 1 ? index : nil)
                    }
                    totals.events += 1
                    connection.delivered += 1
                }
                delivered = revision
            }
        }
        return isFull ? delivered : max(delivered, end)
    }

    private func shows(_ action: JSONObject, to group: SubscriberGroup) -> Bool {
        guard let view = group.key.view else { return true }
        guard let store = action["store"]?.string else {
            guard let type = action["type"]?.string else { return false }
            return type == "*" ? view.knowsEverything : view.knowsHistory(ofAll: type)
        }
        return Engine.parts(of: store).map { view.knowsHistory(of: $0.name, ofType: $0.type) } ?? false
    }

    private func wants(_ group: SubscriberGroup, _ action: JSONObject) -> Bool {
        if let store = action["store"]?.string {
            let parts = store.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
            guard parts.count == 2 else { return false }
            let (type, name) = (String(Substring(parts[0])), String(Substring(parts[1])))
            return group.key.pattern.type.matches(type) && group.key.pattern.name.matches(name)
        }
        guard let type = action["type"]?.string else { return false }
        for entry in machine.types where group.key.pattern.type.matches(entry.name) {
            guard type == "*" || UTF8Order.equal(type, entry.name) else { continue }
            if type == "*", !entry.hasAction(named: action["action"]?.string ?? "") { continue }
            // Which stores existed is not known here: one that has been dropped since may have matched.
            return true
        }
        return false
    }
}
