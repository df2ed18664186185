import BusJSON

/// Bookmarks move the resume point of subscriptions for which nothing changes.
extension Engine {
    /// Bookmarks for the shapes that are due at this revision and were told nothing else.
    @inline(__always)
    func bookmarkDueShapes() {
        // Whichever shape waits longest is found when the time is looked at, once the bus has been busy.
        if bookmarkDeadline == nil, !shapes.isEmpty { bookmarkDeadline = now + 1000 }
        while let shape = bookmarks.take(at: revision) {
            shape._withUnsafeGuaranteedRef { shape in
                // It may have been told something since.
                if shape.lastTold + Limits.bookmarkCommits <= revision { bookmark(shape, atOnce: true) }
                bookmarks.add(shape, due: shape.lastTold + Limits.bookmarkCommits)
            }
        }
    }

    /// How many subscription shapes wait for their time; each must have a subscriber.
    package var shapesAwaitingBookmark: Int { bookmarks.count }

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970; nil: never.
    package var nextDeadline: Int? { bookmarkDeadline }

    /// Does what the time asks for.
    package func tick() {
        guard let deadline = bookmarkDeadline, deadline <= now else { return }
        var next: Int?
        publication.ordered.removeAll(keepingCapacity: true)
        for shape in shapes.values where !shape.key.actions && shape.lastTold < revision {
            let due = shape.lastToldAt + Limits.bookmarkMilliseconds
            if due <= now { bookmark(shape) } else { next = min(next ?? due, due) }
        }
        // A dictionary has no order that could be relied on; events have.
        publication.ordered.sort { ($0.connection.id, $0.number) < ($1.connection.id, $1.number) }
        for subscription in publication.ordered { writeBookmark(to: subscription) }
        publication.ordered.removeAll()
        // Many shapes are not looked through more often than once a second.
        bookmarkDeadline = next.map { max($0, now + (shapes.count > 1000 ? 1000 : 1)) }
    }

    /// Notes a shape's subscriptions for a bookmark, to be written in the order of events.
    func bookmark(_ shape: Shape, atOnce: Bool = false) {
        if shape.cohort != nil { endCohort(of: shape) }
        shape.lastTold = revision
        shape.lastToldAt = now
        for place in shape.subscribers.indices {
            Unmanaged.passUnretained(shape.subscribers[place])._withUnsafeGuaranteedRef { subscription in
                // Where a connection has no other there is no order to keep.
                if atOnce, subscription.connection.subscriptions.count == 1 {
                    writeBookmark(to: subscription)
                } else {
                    publication.ordered.append(subscription)
                }
            }
        }
    }

    func writeBookmark(to subscription: Subscription) {
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            guard subscription.from < revision, connection.lagging == 0, !connection.isClosing,
                connection.outbox.count < outboxLimit
            else { return }
            write(to: connection) { writer in
                writer.write(atMost: 80) { pen in
                    pen.append("{\"event\":\"bookmark\",\"sub\":")
                    pen.append(decimal: subscription.number)
                    pen.append(",\"revision\":")
                    pen.append(decimal: revision, kept: revisionDigits)
                    pen.append("}\n")
                }
            }
            subscription.from = revision
            statistics.bookmarks += 1
        }
    }
}
