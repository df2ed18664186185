import BusJSON
import BusProtocol
import BusState

/// The encoded changes of a commit go to the subscribers, shared bytes wherever two are told the same.
extension Engine {
    func deliver(by: [UInt8], actions: Bool) {
        for index in publication.shapes.indices {
            publication.shapes[index]._withUnsafeGuaranteedRef { shape in
                if !shape.key.actions { noteTold(shape) }
                let cause = shape.key.cause && !shape.key.actions ? cause(by: by, actions: actions) : nil
                Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef {
                    deliver($0, cause, to: shape)
                }
            }
        }
    }

    /// Tells the subscriptions of connections that have several: changes and bookmarks of one connection by their numbers.
    func deliverInOrder(by: [UInt8], actions: Bool) {
        publication.ordered.sort {
            ($0.connection.id, $0.number) < ($1.connection.id, $1.number)
        }
        for subscription in publication.ordered {
            let shape = subscription.shape
            guard let content = shape.content else {
                writeBookmark(to: subscription)
                continue
            }
            let cause = shape.key.cause && !shape.key.actions ? cause(by: by, actions: actions) : nil
            deliver(content, cause, to: subscription, on: subscription.connection)
        }
        publication.ordered.removeAll(keepingCapacity: true)
    }

    /// Tells a plain shape's subscribers of the members that changed in a commit's only store, written straight to where
    /// they are told things: into one outbox, or into the run of a cohort of all. False, with nothing told, where it takes
    /// more than that.
    func tellAtOnce(
        _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, to shape: Shape
    ) -> Bool {
        var isTold = false
        if shape.subscribers.count == 1, shape.liveCount == 1 {
            Unmanaged.passUnretained(shape.subscribers[0])._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    // Where there are other subscriptions there is an order to keep.
                    guard connection.subscriptions.count == 1, isReading(subscription, connection) else {
                        return
                    }
                    write(to: connection) { writer in
                        isTold = appendEvent(
                            record, type, number: subscription.number, from: subscription.from,
                            to: writer)
                    }
                    if !isTold { return }
                    subscription.from = revision
                    statistics.events += 1
                }
            }
        } else if let cohort = shape.cohort, cohort.others.isEmpty, cohort.run.count < Cohort.runSize {
            let start = cohort.run.count
            isTold = appendEvent(
                record, type, number: cohort.number, from: cohort.from, to: cohort.run)
            if isTold { noteEvent(of: cohort, from: start) }
        }
        if isTold { noteTold(shape) }
        return isTold
    }

    /// A whole event about members of one store. False, with nothing written, where it takes more than that.
    @inline(__always)
    private func appendEvent(
        _ record: UnsafeMutablePointer<StoreRecord>, _ type: TypeEntry, number: Int, from: Int,
        to writer: ByteWriter
    ) -> Bool {
        let start = writer.count
        writer.write(atMost: 160 + addressRoom(record, type)) { pen in
            pen.append("{\"event\":\"change\",\"sub\":")
            pen.append(decimal: number)
            pen.append(",\"from\":")
            pen.append(decimal: from, kept: previousDigits)
            pen.append(",\"revision\":")
            pen.append(decimal: revision, kept: revisionDigits)
            pen.append(",\"changes\":{")
            append(addressOf: record, type, to: &pen)
            pen.append(UInt8(ascii: ":"))
        }
        guard memberChanges.appendMerge(of: &record.pointee.state, to: writer),
            writer.count - start <= partLimit
        else {
            writer.truncate(to: start)
            return false
        }
        writer.append("}}\n")
        return true
    }

    private func deliver(_ content: ShapeContent, _ cause: ByteWriter?, to shape: Shape) {
        if content.isAbandoned { return }
        // In a group that was formed in this turn a member's revision stands with the group.
        if shape.liveCount > 1 || shape.cohort != nil, !shape.key.actions {
            return deliverTogether(content, cause, to: shape)
        }
        // From the end, as who begins to lag changes places with the last.
        for place in (0..<shape.liveCount).reversed() {
            Unmanaged.passUnretained(shape.subscribers[place])._withUnsafeGuaranteedRef {
                deliver(content, cause, toOneOf: $0)
            }
        }
    }

    /// Tells one subscription, or notes it for later, where its connection has others.
    func deliver(_ content: ShapeContent, _ cause: ByteWriter?, toOneOf subscription: Subscription) {
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            if connection.subscriptions.count > 1 {
                // Who lags behind anyway need not be put in order.
                guard subscription.shape.key.actions || canTake(content, subscription, connection) else {
                    return
                }
                work += Work.delivery
                bill(Work.delivery, to: connection)
                publication.ordered.append(subscription)
            } else {
                deliver(content, cause, to: subscription, on: connection)
            }
        }
    }

    /// Tells one subscription alone.
    @inline(__always)
    private func deliver(
        _ content: ShapeContent, _ cause: ByteWriter?, to subscription: Subscription,
        on connection: Connection
    ) {
        if subscription.shape.key.actions { return deliverActions(content, to: subscription) }
        guard canTake(content, subscription, connection) else { return }
        write(to: connection) { writer in
            self.appendEvent(
                content, cause, number: subscription.number, from: subscription.from, to: writer)
        }
        work &+= Work.delivery
        subscription.from = revision
        statistics.events += 1
    }

    /// Whether a subscription takes live changes; one whose outbox is full, or whose turn comes too late, begins to lag here.
    @inline(__always)
    private func canTake(
        _ content: ShapeContent, _ subscription: Subscription, _ connection: Connection
    ) -> Bool {
        if isReading(subscription, connection), !isPublicationLong,
            content.size <= Limits.usualContent || !isOutputOverShare
        {
            return true
        }
        if subscription.catchUp != nil || connection.isClosing { return false }
        if !isPublicationLong { beginNotingCommit(subscription.shape) }
        fallBehind(subscription)
        return false
    }

    /// Whether a subscription takes live changes.
    @inline(__always)
    private func isReading(_ subscription: Subscription, _ connection: Connection) -> Bool {
        // While one subscription of a connection lags, all do: else a later commit would overtake an earlier.
        connection.lagging == 0 && !connection.isClosing && connection.outbox.count < outboxLimit
            && subscription.catchUp == nil
    }

    // MARK: Events

    @inline(__always)
    func appendEvent(
        _ content: ShapeContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        if content.isCut || content.size + (cause?.count ?? 0) > partLimit {
            return appendParts(content, cause, number: number, from: from, to: writer)
        }
        writer.reserve(Limits.eventOverhead + content.size + (cause?.count ?? 0))
        appendHead(number, from: from, to: writer)
        if !content.changes.isEmpty {
            writer.append(",\"changes\":{")
            writer.append(content.changes.whole)
            writer.append(UInt8(ascii: "}"))
        }
        if !content.states.isEmpty {
            writer.append(",\"states\":{")
            writer.append(content.states.whole)
            writer.append(UInt8(ascii: "}"))
        }
        if !content.dropped.isEmpty {
            writer.append(",\"dropped\":[")
            writer.append(content.dropped.whole)
            writer.append(UInt8(ascii: "]"))
        }
        if let cause { writer.append(cause.bytes) }
        writer.append("}\n")
    }

    /// `{"event":"change","sub":1,"from":42,"revision":43`
    @inline(__always)
    func appendHead(_ number: Int, from: Int?, to writer: ByteWriter) {
        writer.write(atMost: 128) { pen in
            pen.append("{\"event\":\"change\",\"sub\":")
            pen.append(decimal: number)
            if let from {
                pen.append(",\"from\":")
                pen.append(decimal: from, kept: previousDigits)
            }
            pen.append(",\"revision\":")
            pen.append(decimal: revision, kept: revisionDigits)
        }
    }

    /// An event too long for a line: parts, all but the last with `more`.
    private func appendParts(
        _ content: ShapeContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        var parts:
            [(name: StaticString, open: StaticString, close: StaticString, bytes: UnsafeRawBufferPointer)] =
                []
        writer.reserve((content.size / partLimit + 4) * Limits.eventOverhead + content.size)
        content.changes.forEachPart { parts.append(("changes", "{", "}", $0)) }
        content.states.forEachPart { parts.append(("states", "{", "}", $0)) }
        content.dropped.forEachPart { parts.append(("dropped", "[", "]", $0)) }
        for (index, part) in parts.enumerated() {
            appendHead(number, from: index == 0 ? from : nil, to: writer)
            writer.append(",\"")
            writer.append(part.name)
            writer.append("\":")
            writer.append(part.open)
            writer.append(part.bytes)
            writer.append(part.close)
            let isLast = index == parts.count - 1
            if isLast, let cause, cause.count + part.bytes.count <= partLimit { writer.append(cause.bytes) }
            writer.append(isLast ? "}\n" : ",\"more\":true}\n")
        }
    }

    /// Action events can't be merged. Who has no room for them hears of them from the log, where there is one. Else they wait in
    /// memory as long as there is enough of it; then a connection that holds much of it is ended.
    private func deliverActions(_ content: ShapeContent, to subscription: Subscription) {
        let connection = subscription.connection
        // Who is still told of the past hears of this commit from the log.
        guard !connection.isClosing, subscription.toldThrough == nil else { return }
        if connection.outbox.count >= outboxLimit || isPublicationLong {
            if isLogged { return fallBackToLog(subscription) }
            if connection.outbox.count >= outboxLimit, !mayHoldMore(connection) {
                return endSlowConsumer(connection)
            }
            if connection.outbox.count >= outboxLimit { watch(connection) }
        }
        work += Work.delivery
        write(to: connection) { writer in
            for place in content.actions {
                writer.append("{\"event\":\"action\",\"sub\":")
                writer.append(decimal: subscription.number)
                writer.append(publication.action(place))
                writer.append("}\n")
                statistics.events += 1
            }
        }
    }

    /// An action subscription is told of this commit, and what comes until it has caught up, from the log.
    private func fallBackToLog(_ subscription: Subscription) {
        subscription.toldThrough = revision - 1
        subscription.connection.behind += 1
        subscription.connection.isBlocked = true
        enqueue(subscription.connection)
    }

    /// Whether the daemon has memory for more than the usual of what one connection has to be told: it reads, if more slowly than
    /// others dispatch, or has not had the time to show that it does not.
    private func mayHoldMore(_ connection: Connection) -> Bool {
        guard connection.outbox.count < limits.memory / 8, !isOutputOverShare else { return false }
        return !isStuck(connection)
    }

    /// A connection holds more than it usually may: once it has not read for long enough, it is ended.
    private func watch(_ connection: Connection) {
        if connection.isWatched { return }
        connection.isWatched = true
        watchedReaders.append(connection)
    }

    /// When the next of those has to be looked at, in milliseconds since 1970.
    var watchDeadline: Int? {
        watchedReaders.isEmpty
            ? nil : watchedReaders.lazy.map { $0.stuckSince ?? self.now }.min()! + Limits.stuckMilliseconds
    }

    /// Ends those who have not read, and lets go of those who have.
    func endStuckReaders() {
        if watchedReaders.isEmpty { return }
        let watched = watchedReaders
        watchedReaders = []
        for connection in watched where !connection.isClosing {
            connection.isWatched = false
            if connection.outbox.count < outboxLimit { continue }
            if isStuck(connection) {
                endSlowConsumer(connection)
            } else {
                watch(connection)
            }
        }
    }

    private func endSlowConsumer(_ connection: Connection) {
        let isStuck = isStuck(connection)
        statistics.goodbyes += 1
        configuration.report(
            EngineNote(
                kind: .slowConsumer, level: .warning,
                message: isStuck
                    ? "A subscriber to actions does not read; its connection is ended with slow_consumer."
                    : "A subscriber to actions reads more slowly than they come, and there is no memory for more; its connection is ended with slow_consumer.",
                peer: connection.peer))
        sayGoodbye(
            connection, .slowConsumer,
            isStuck
                ? "This client does not read its action events, which can't be merged; read faster or watch states."
                : "Action events, which can't be merged, come faster than this client reads them; watch states, or have the bus keep a log."
        )
    }
}
