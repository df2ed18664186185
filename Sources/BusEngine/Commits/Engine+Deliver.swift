import BusJSON
import BusProtocol

/// The encoded changes of a commit go to the subscribers, shared bytes wherever two are told the same.
extension Engine {
    /// `due`: shapes for which nothing changed for long; their subscribers get a bookmark in its place among
    /// the commit's events.
    func deliver(by: [UInt8], actions: Bool, bookmarking due: [Shape]) {
        if !publication.ordered.isEmpty { publication.ordered.removeAll(keepingCapacity: true) }
        for index in publication.shapes.indices {
            publication.shapes[index]._withUnsafeGuaranteedRef { shape in
                if !shape.key.actions {
                    shape.lastTold = revision
                    shape.lastToldAt = now
                }
                let cause = shape.key.cause && !shape.key.actions ? cause(by: by, actions: actions) : nil
                Unmanaged.passUnretained(publication.contents[index])._withUnsafeGuaranteedRef {
                    deliver($0, cause, to: shape)
                }
            }
        }
        for shape in due { bookmark(shape, atOnce: true) }
        if publication.ordered.isEmpty { return }
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
    }

    private func deliver(_ content: ShapeContent, _ cause: ByteWriter?, to shape: Shape) {
        if shape.subscribers.count > 1, !shape.key.actions {
            return deliverTogether(content, cause, to: shape)
        }
        for place in shape.subscribers.indices {
            Unmanaged.passUnretained(shape.subscribers[place])._withUnsafeGuaranteedRef {
                deliver(content, cause, toOneOf: $0)
            }
        }
    }

    /// Tells one subscription, or notes it for later, where its connection has others.
    func deliver(_ content: ShapeContent, _ cause: ByteWriter?, toOneOf subscription: Subscription) {
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            if connection.subscriptions.count > 1 {
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
        guard canTake(subscription, connection) else { return }
        write(to: connection) { writer in
            self.appendEvent(
                content, cause, number: subscription.number, from: subscription.from, to: writer)
        }
        subscription.from = revision
        statistics.events += 1
    }

    /// Whether a subscription takes live changes; one whose outbox is full begins to lag here.
    @inline(__always)
    private func canTake(_ subscription: Subscription, _ connection: Connection) -> Bool {
        if subscription.catchUp != nil { return false }
        if connection.isClosing { return false }
        // While one subscription of a connection lags, all do: else a later commit would overtake an earlier.
        if connection.outbox.count < outboxLimit, connection.lagging == 0 { return true }
        beginLagging(
            subscription,
            CatchUp(
                reset: false, evenIfEmpty: false, dropsAfter: revision - 1, floor: sequenceBefore,
                ceiling: sequence))
        statistics.coalesced += 1
        return false
    }

    // MARK: Events

    @inline(__always)
    func appendEvent(
        _ content: ShapeContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        if content.isCut || content.size + (cause?.count ?? 0) > partLimit {
            return appendParts(content, cause, number: number, from: from, to: writer)
        }
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
        writer.append("{\"event\":\"change\",\"sub\":")
        writer.append(decimal: number)
        if let from {
            writer.append(",\"from\":")
            writer.append(decimal: from)
        }
        writer.append(",\"revision\":")
        writer.append(decimal: revision)
    }

    /// An event too long for a line: parts, all but the last with `more`.
    private func appendParts(
        _ content: ShapeContent, _ cause: ByteWriter?, number: Int, from: Int, to writer: ByteWriter
    ) {
        var parts:
            [(name: StaticString, open: StaticString, close: StaticString, bytes: UnsafeRawBufferPointer)] =
                []
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

    /// Action events can't be merged: a connection that has no room for them is ended.
    private func deliverActions(_ content: ShapeContent, to subscription: Subscription) {
        let connection = subscription.connection
        // Who is still told of the past hears of this commit from the log.
        guard !connection.isClosing, subscription.toldThrough == nil else { return }
        guard connection.outbox.count < outboxLimit else {
            statistics.goodbyes += 1
            configuration.report(
                EngineNote(
                    kind: .slowConsumer, level: .warning,
                    message:
                        "A subscriber to actions does not read; its connection is ended with slow_consumer.",
                    peer: connection.peer))
            return sayGoodbye(
                connection, .slowConsumer,
                "This client does not read its action events, which can't be merged; read faster or watch states."
            )
        }
        write(to: connection) { writer in
            content.actions.forEachPart(comma: true) { part in
                writer.append("{\"event\":\"action\",\"sub\":")
                writer.append(decimal: subscription.number)
                writer.append(part)
                writer.append("}\n")
                self.statistics.events += 1
            }
        }
    }
}
