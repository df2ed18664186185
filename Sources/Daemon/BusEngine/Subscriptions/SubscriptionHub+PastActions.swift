import BusJSON
import BusMachine
import BusProtocol

/// Subscriptions to actions that begin in the past, or fell behind: they are notified of the log's entries, then of what is
/// still in memory, then live.
///
/// All subscriptions of one connection that are behind go through the entries together, so the revisions of its events
/// ascend. They do so as long as the slice lasts and the outbox has room.
///
/// One gap says that actions may be missing. It is sent as late as possible: before the first action after its revision, or at the
/// end. Sent earlier, it would make a client that resumes from it lose the actions in between.
extension SubscriptionHub {
    /// Begins to deliver the actions after a revision.
    func beginPast(_ subscription: Subscription, after revision: Int) {
        let connection = subscription.connection
        // It may begin before those that are behind already.
        forgetEntries(of: connection)
        beginPast(subscription, at: Subscription.Past(after: revision))
        continuePast(of: connection)
    }

    /// From now on a subscription's actions come from the log.
    func beginPast(_ subscription: Subscription, at past: Subscription.Past) {
        subscription.past = past
        subscription.connection.beginPast()
    }

    /// Those of a connection that are delivered actions of the past.
    private func behind(on connection: Connection) -> [Behind] {
        connection.delivery.subscriptions.compactMap { subscription in
            subscription.past.map { (subscription, $0) }
        }
    }

    private typealias Behind = (subscription: Subscription, past: Subscription.Past)

    /// Delivers what is at hand, and asks the log for more. False while there is more to deliver.
    @discardableResult
    func continuePast(of connection: Connection) -> Bool {
        var hasAdvanced = false
        // Policies may have changed since the last turn.
        if connection.query == nil { for one in behind(on: connection) { noteMissing(of: one) } }
        while connection.behind > 0, connection.query == nil {
            let behind = behind(on: connection)
            guard let after = behind.lazy.map(\.past.deliveredThrough).min() else {
                preconditionFailure("No subscription receives past actions.")
            }
            if after >= machine.revision {
                for one in behind { finishPast(one) }
                break
            }
            if !connections.isHalfEmpty(connection) {
                connection.wait(for: .output)
                // While memory is short, what can be read again is not kept.
                if connections.isOutputOverShare { forgetEntries(of: connection) }
                return false
            }
            if hasAdvanced, clock.isSliceUsedUp {
                connection.pause()
                return false
            }
            hasAdvanced = true
            if !deliverEntries(after: after, to: behind, of: connection) {
                queries.ask(.entries(after: after), for: .actions(after: after), id: [], connection)
            }
        }
        return connection.behind == 0
    }

    /// What follows a revision in the log has come; it is delivered in the connection's turn.
    func takePast(_ answer: LogAnswer, after asked: Int, for connection: Connection) {
        let behind = behind(on: connection)
        switch answer {
        case .entries(let entries, let through, let horizons) where through > asked:
            for one in behind { noteMissing(of: one, horizons) }
            forgetEntries(of: connection)
            if behind.isEmpty { return }
            let past = PastEntries(.answer(entries, through: through))
            connections.count(past, as: entries.count, of: connection)
            connection.delivery.keep(past)
        case .gap(let oldest):
            for (_, past) in behind where past.deliveredThrough < oldest {
                past.missingThrough = max(past.missingThrough, oldest)
                past.deliveredThrough = oldest
            }
        case .entries, .refused, .members, .state:
            // The log can't be read, or lacks entries that it should have: a gap event says that something is missing.
            for one in behind {
                one.past.missingThrough = .max
                finishPast(one)
            }
        }
    }

    // MARK: What may be missing

    /// Notes through which revision the log may lack actions that a subscription wants, by the policies of their types and by
    /// the log's horizons.
    private func noteMissing(of one: Behind, _ horizons: [String: Int] = [:]) {
        let (group, past) = (one.subscription.group, one.past)
        func isMeant(_ type: String) -> Bool {
            group.key.pattern.type.matches(type) && group.key.view?.knows(type: type) ?? true
        }
        // What stores were like when actions came is not known.
        let lacked =
            group.test != nil
            ? .max
            : max(
                machine.lackedActions(isMeant),
                horizons.reduce(0) { $1.value > $0 && isMeant($1.key) ? $1.value : $0 })
        guard lacked > past.deliveredThrough else { return }
        past.missingThrough = max(past.missingThrough, lacked)
        // A single type has no earlier actions worth reading.
        if group.test != nil || group.key.pattern.type.isLiteral {
            past.deliveredThrough = min(lacked, machine.revision)
        }
    }

    /// Tells a subscription that actions may be missing, if all of them are before a revision; nil: in any case.
    private func tellMissing(_ one: Behind, before revision: Int? = nil) {
        let missing = one.past.missingThrough
        guard missing > 0, revision.map({ missing < $0 }) ?? true else { return }
        writeGap(to: one.subscription, at: min(missing, machine.revision))
        one.past.missingThrough = 0
    }

    private func finishPast(_ one: Behind) {
        tellMissing(one)
        endPast(one.subscription)
    }

    func writeGap(to subscription: Subscription, at revision: Int) {
        connections.write(to: subscription.connection) {
            $0.append(gapOf: subscription.number, revision: revision)
        }
    }

    func endPast(_ subscription: Subscription) {
        guard subscription.past != nil else { return }
        subscription.past = nil
        subscription.connection.endPast()
        if subscription.connection.behind == 0 { forgetEntries(of: subscription.connection) }
    }

    /// The entries at hand are not those that come next, or are no longer needed.
    func forgetEntries(of connection: Connection) {
        guard let past = connection.delivery.past else { return }
        connections.count(past, as: 0, of: connection)
        connection.delivery.keep(nil)
    }

    // MARK: Entries

    /// Delivers some of the entries after a revision; false where the log has to be asked for them.
    private func deliverEntries(
        after revision: Int, to behind: [Behind], of connection: Connection
    ) -> Bool {
        if case .answer(let bytes, let through) = connection.delivery.past?.source {
            bytes.withUnsafeBytes { deliver($0, through: through, to: behind, of: connection) }
            return true
        }
        return log.withEntries(after: revision) { entries, before, last in
            if case .batch(before) = connection.delivery.past?.source {
            } else {
                connection.delivery.keep(PastEntries(.batch(after: before)))
            }
            deliver(entries, through: last, to: behind, of: connection)
        }
    }

    /// Delivers entries while there is room and time, but at least one.
    private func deliver(
        _ entries: UnsafeRawBufferPointer, through end: Int, to behind: [Behind],
        of connection: Connection
    ) {
        guard let past = connection.delivery.past else { return }
        while past.offset < entries.count {
            let line = LogLines.line(in: entries, at: past.offset)
            clock.work += Work.entry
            if let revisions = LogLines.revisions(of: line),
                behind.contains(where: { $0.past.deliveredThrough < revisions.upperBound }),
                !deliver(line, of: revisions, to: behind, on: connection)
            {
                return
            }
            past.offset += line.count + 1
            if clock.isSliceUsedUp, past.offset < entries.count { return }
        }
        for one in behind { pass(end, one) }
        // More may be added to a batch, and follows there.
        if case .answer = past.source { forgetEntries(of: connection) }
    }

    private func pass(_ revision: Int, _ one: Behind) {
        one.past.deliveredThrough = max(one.past.deliveredThrough, revision)
    }

    /// Delivers the commits of one entry, each to all that want it; false if that ends before the last of them.
    private func deliver(
        _ line: UnsafeRawBufferPointer, of revisions: ClosedRange<Int>, to behind: [Behind],
        on connection: Connection
    ) -> Bool {
        clock.work += line.count * Work.entryByte
        let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object ?? [:]
        let actions = (entry["actions"]?.array ?? []).compactMap(\.object)
        let wanted = behind.map { one -> [(index: Int?, action: JSONObject)] in
            let group = one.subscription.group
            // Hidden actions do not count, so only those who see all get the index in the batch.
            let shown = actions.filter { group.key.view?.knows(action: .object($0)) ?? true }
            return shown.enumerated().compactMap { number, action in
                let index = group.key.view == nil ? action["index"]?.int : nil
                return wants(group, action)
                    ? (index ?? (shown.count > 1 ? number : nil), fitting(action)) : nil
            }
        }
        if wanted.allSatisfy(\.isEmpty) {
            for one in behind { pass(revisions.upperBound, one) }
            return true
        }
        let first = behind.reduce(revisions.upperBound) { min($0, $1.past.deliveredThrough + 1) }
        for revision in max(first, revisions.lowerBound)...revisions.upperBound {
            if connections.isFull(connection) { return false }
            for (one, wanted) in zip(behind, wanted) where one.past.deliveredThrough < revision {
                if !wanted.isEmpty { tellMissing(one, before: revision) }
                for (index, action) in wanted {
                    connections.write(to: connection) {
                        $0.append(
                            pastAction: action, of: entry, for: one.subscription.number, revision: revision,
                            index: index)
                    }
                    totals.events += 1
                    connection.delivery.note()
                    clock.work += Work.delivery
                }
                one.past.deliveredThrough = revision
            }
            if clock.isSliceUsedUp, revision < revisions.upperBound { return false }
        }
        return true
    }

    /// An action as a line has room for it, perhaps without what it returns.
    private func fitting(_ action: JSONObject) -> JSONObject {
        guard ReturnedMember.allCases.contains(where: { action[$0.rawValue] != nil }),
            action.encodedSize > partLimit
        else { return JSON.object(action).withoutIndex.object ?? action }
        return JSON.object(action).asRequested.object ?? action
    }

    private func wants(_ group: SubscriberGroup, _ action: JSONObject) -> Bool {
        if group.test != nil { return false }
        if let store = action["store"]?.string {
            let parts = store.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
            guard parts.count == 2 else { return false }
            let (type, name) = (String(Substring(parts[0])), String(Substring(parts[1])))
            return group.key.pattern.type.matches(type) && group.key.pattern.name.matches(name)
        }
        guard let type = action["type"]?.string else { return false }
        if type != "*" { return group.key.pattern.type.matches(type) }
        let name = action["action"]?.string ?? ""
        return machine.types.contains { group.key.pattern.type.matches($0.name) && $0.hasAction(named: name) }
    }
}
