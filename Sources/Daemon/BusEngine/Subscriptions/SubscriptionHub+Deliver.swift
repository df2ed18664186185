import BusJSON
import BusMachine
import BusProtocol
import BusState

/// Delivers the encoded changes of a commit to the subscribers, with shared bytes wherever two receive the same.
extension SubscriptionHub {
    func deliver(by principal: Principal, actions: Bool) {
        for index in publication.groups.indices {
            publication.groups[index]._withUnsafeGuaranteedRef { group in
                if !group.key.actions { noteNotified(group) }
                let cause =
                    group.key.cause && !group.key.actions ? cause(by: principal, actions: actions) : nil
                Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef {
                    deliver($0, cause, to: group)
                }
            }
        }
    }

    /// Notifies the subscriptions of connections that have several: changes and bookmarks of one
    /// connection by their numbers.
    func deliverInOrder(by principal: Principal, actions: Bool) {
        publication.ordered.sort {
            ($0.connection.id, $0.number) < ($1.connection.id, $1.number)
        }
        for subscription in publication.ordered {
            let group = subscription.group
            guard let content = group.content else {
                writeBookmark(to: subscription)
                continue
            }
            let cause = group.key.cause && !group.key.actions ? cause(by: principal, actions: actions) : nil
            deliver(content, cause, to: subscription, on: subscription.connection)
        }
        publication.ordered.removeAll(keepingCapacity: true)
    }

    /// Notifies a plain group's subscribers of the members that changed in a commit's only store, written
    /// straight into one outbox, or into the run of a multicast group of all. False, with nothing delivered,
    /// where it takes more than that.
    func notifyDirectly(
        _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, to group: SubscriberGroup
    ) -> Bool {
        var isWritten = false
        if group.subscribers.count == 1, group.liveCount == 1 {
            Unmanaged.passUnretained(group.subscribers[0])._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    // Where there are other subscriptions their order has to be kept.
                    guard !connection.delivery.subscriptions.areSeveral, isReading(subscription, connection)
                    else {
                        return
                    }
                    connections.write(to: connection) { writer in
                        isWritten = appendEvent(
                            record, type, number: subscription.number, from: subscription.from,
                            to: writer)
                    }
                    if !isWritten { return }
                    subscription.from = machine.revision
                    totals.events &+= 1
                    connection.delivery.note()
                }
            }
        } else if let multicast = group.multicast, multicast.others.isEmpty,
            multicast.run.bytes.count < MulticastGroup.runSize
        {
            let start = multicast.run.bytes.count
            isWritten = appendEvent(
                record, type, number: multicast.number, from: multicast.from, to: multicast.run.bytes)
            if isWritten { noteEvent(of: multicast, from: start) }
        }
        if isWritten { noteNotified(group) }
        return isWritten
    }

    /// Appends a whole event about members of one store. False, with nothing written, where it takes more than that.
    @inline(__always)
    private func appendEvent(
        _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, number: Int, from: Int,
        to writer: ByteWriter
    ) -> Bool {
        let start = writer.count
        writer.write(atMost: 160 + addressRoom(record, type)) { pen in
            pen.append(
                changeFor: number, from: from, previousDigits, revision: machine.revision, revisionDigits)
            pen.appendStartOfChanges()
            pen.append(addressOf: record, type)
            pen.append(UInt8(ascii: ":"))
        }
        guard machine.appendMemberChanges(to: writer),
            writer.count - start <= partLimit
        else {
            writer.truncate(to: start)
            return false
        }
        writer.appendEndOfChanges()
        return true
    }

    private func deliver(_ content: GroupContent, _ cause: ByteWriter?, to group: SubscriberGroup) {
        if content.isAbandoned { return }
        // In a group with a multicast formed in this turn, a member's revision is kept by the multicast group.
        if group.liveCount > 1 || group.multicast != nil, !group.key.actions {
            return deliverTogether(content, cause, to: group)
        }
        // From the end, because a subscription that begins to lag changes places with the last.
        for place in (0..<group.liveCount).reversed() {
            Unmanaged.passUnretained(group.subscribers[place])._withUnsafeGuaranteedRef {
                deliver(content, cause, toOneOf: $0)
            }
        }
    }

    /// Notifies one subscription, or queues it for later, where its connection has others.
    func deliver(_ content: GroupContent, _ cause: ByteWriter?, toOneOf subscription: Subscription) {
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            if connection.delivery.subscriptions.areSeveral {
                // A subscription that lags behind anyway need not be ordered.
                guard subscription.group.key.actions || canTake(content, subscription, connection) else {
                    return
                }
                clock.work += Work.delivery
                scheduler.bill(Work.delivery, to: connection)
                publication.ordered.append(subscription)
            } else {
                deliver(content, cause, to: subscription, on: connection)
            }
        }
    }

    /// Notifies one subscription alone.
    @inline(__always)
    private func deliver(
        _ content: GroupContent, _ cause: ByteWriter?, to subscription: Subscription,
        on connection: Connection
    ) {
        if subscription.group.key.actions { return deliverActions(content, to: subscription) }
        guard canTake(content, subscription, connection) else { return }
        connections.write(to: connection) { writer in
            self.appendEvent(
                content, cause, number: subscription.number, from: subscription.from, to: writer)
        }
        clock.work &+= Work.delivery
        subscription.from = machine.revision
        totals.events += 1
        connection.delivery.note()
    }

    /// Whether a subscription takes live changes; one whose outbox is full, or whose turn comes
    /// too late, begins to lag here.
    @inline(__always)
    private func canTake(
        _ content: GroupContent, _ subscription: Subscription, _ connection: Connection
    ) -> Bool {
        if isReading(subscription, connection), !isPublicationLong,
            content.size <= DaemonLimits.usualContent || !connections.isOutputOverShare
        {
            return true
        }
        if subscription.isLagging || connection.isClosing { return false }
        if !isPublicationLong { beginNotingCommit(subscription.group) }
        fallBehind(subscription)
        return false
    }

    /// Whether a subscription takes live changes.
    @inline(__always)
    private func isReading(_ subscription: Subscription, _ connection: Connection) -> Bool {
        // While one subscription of a connection lags, all do: else a later commit would overtake an earlier one.
        connection.lagging == 0 && connection.behind == 0 && !connection.isClosing
            && !connections.isFull(connection) && !subscription.isLagging
    }

    // MARK: Events

    @inline(__always)
    func appendEvent(
        _ content: GroupContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        let size = content.size &+ (cause?.count ?? 0)
        if content.isCut || size > partLimit {
            return appendParts(content, cause, number: number, from: from, to: writer)
        }
        writer.reserve(DaemonLimits.eventOverhead + size)
        appendHead(number, from: from, to: writer)
        if !content.changes.isEmpty { writer.append(.changes, content.changes.whole) }
        if !content.states.isEmpty { writer.append(.states, content.states.whole) }
        if !content.dropped.isEmpty { writer.append(.dropped, content.dropped.whole) }
        if let cause { writer.append(cause.bytes) }
        writer.appendEndOfChange(more: false)
    }

    /// How a change begins; later parts have no `from`.
    @inline(__always)
    func appendHead(_ number: Int, from: Int?, to writer: ByteWriter) {
        writer.write(atMost: 128) { pen in
            pen.append(
                changeFor: number, from: from, previousDigits, revision: machine.revision, revisionDigits)
        }
    }

    /// Appends an event too long for a line: parts, all but the last with `more`.
    private func appendParts(
        _ content: GroupContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        var parts: [(member: ChangeMember, items: UnsafeRawBufferPointer)] = []
        writer.reserve((content.size / partLimit + 4) * DaemonLimits.eventOverhead + content.size)
        content.changes.forEachPart { parts.append((.changes, $0)) }
        content.states.forEachPart { parts.append((.states, $0)) }
        content.dropped.forEachPart { parts.append((.dropped, $0)) }
        for (index, part) in parts.enumerated() {
            appendHead(number, from: index == 0 ? from : nil, to: writer)
            writer.append(part.member, part.items)
            let isLast = index == parts.count - 1
            if isLast, let cause, cause.count + part.items.count <= partLimit { writer.append(cause.bytes) }
            writer.appendEndOfChange(more: !isLast)
        }
    }

    /// Action events can't be merged. A subscriber without room for them receives them from the log,
    /// where there is one. Else they wait in memory as long as there is enough of it; then a connection
    /// that holds much of it is closed.
    private func deliverActions(_ content: GroupContent, to subscription: Subscription) {
        let connection = subscription.connection
        // A subscriber that still receives the past gets this commit from the log.
        guard !connection.isClosing, subscription.past == nil else { return }
        // While another one of the connection does, this one must not overtake it.
        if connection.behind > 0, log.isOn { return fallBackToLog(subscription) }
        let isFull = connections.isFull(connection)
        // The log does not tell what a store was like.
        if log.isOn, subscription.group.test == nil, isFull || isPublicationLong {
            return fallBackToLog(subscription)
        }
        if isFull {
            guard mayHoldMore(connection) else { return endSlowConsumer(connection) }
            watch(connection)
        }
        clock.work += Work.delivery
        connections.write(to: connection) { writer in
            for place in content.actions {
                writer.append(actionFor: subscription.number, publication.action(place))
                totals.events += 1
                connection.delivery.note()
            }
        }
    }

    /// Tells a subscription that it is not told the actions of this commit, unless its client does not read.
    func noteGap(of subscription: Subscription) {
        let connection = subscription.connection
        if connection.isClosing { return }
        if connections.isFull(connection) {
            guard mayHoldMore(connection) else { return endSlowConsumer(connection) }
            watch(connection)
        }
        writeGap(to: subscription, at: machine.revision)
    }

    /// An action subscription receives this commit, and what follows until it has caught up, from the log.
    private func fallBackToLog(_ subscription: Subscription) {
        beginPast(subscription, at: Subscription.Past(after: machine.revision - 1))
        scheduler.enqueue(subscription.connection)
    }

    /// Whether the daemon has memory for more than the usual output of one connection: the client reads, if more slowly
    /// than others dispatch, or has not had the time to prove that it does not.
    private func mayHoldMore(_ connection: Connection) -> Bool {
        connection.output.outbox.count < connections.limits.memory / 8 && !connections.isOutputOverShare
            && !connections.isStuck(connection) && !connection.user.holdsTooMuch
    }

    /// A connection holds more than it usually may: once it has not read for long enough, it is closed.
    private func watch(_ connection: Connection) {
        if connection.output.watch() { watchedReaders.append(connection) }
    }

    /// When the next of those has to be checked, in milliseconds since 1970.
    var watchDeadline: Int? {
        watchedReaders.isEmpty
            ? nil
            : watchedReaders.lazy.map { $0.output.stuckSince ?? self.clock.now }.min()!
                + DaemonLimits.stuckMilliseconds
    }

    /// Closes the connections that have not read, and stops watching those that have.
    func endStuckReaders() {
        if watchedReaders.isEmpty { return }
        let watched = watchedReaders
        watchedReaders = []
        for connection in watched where !connection.isClosing {
            connection.output.endWatch()
            if !connections.isFull(connection) { continue }
            if connections.isStuck(connection) {
                endSlowConsumer(connection)
            } else {
                watch(connection)
            }
        }
    }

    /// Disconnects a client that does not read, because memory is short.
    func endStuckReader(_ connection: Connection) {
        totals.slowConsumers += 1
        outputs.report(
            Diagnostic(
                kind: .slowConsumer, level: .warning,
                message:
                    "A client does not read, and memory is short; its connection is ended with slow_consumer.",
                peer: connection.peer))
        close(
            connection, .slowConsumer,
            "This client does not read, and the bus needs the memory; connect again and read.")
        // Nobody will read it, and the memory is needed.
        connection.output.discard()
    }

    private func endSlowConsumer(_ connection: Connection) {
        let isStuck = connections.isStuck(connection)
        totals.slowConsumers += 1
        outputs.report(
            Diagnostic(
                kind: .slowConsumer, level: .warning,
                message: isStuck
                    ? "A subscriber to actions does not read; its connection is ended with slow_consumer."
                    : "A subscriber to actions reads more slowly than they come, and there is no memory for more; its connection is ended with slow_consumer.",
                peer: connection.peer))
        close(
            connection, .slowConsumer,
            isStuck
                ? "This client does not read its action events, which can't be merged; read faster or watch states."
                : "Action events, which can't be merged, come faster than this client reads them; watch states, or have the bus keep a log."
        )
    }
}
