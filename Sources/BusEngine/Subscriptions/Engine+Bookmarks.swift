import BusJSON

/// Bookmarks move the resume point of subscriptions for which nothing changes.
extension Engine {
    /// A shape's subscribers are told of this commit, or reminded of its revision.
    @inline(__always)
    func noteTold(_ shape: Shape) {
        shape.lastTold = revision
        shape.lastToldAt = now
        quietShapes.moveToEnd(shape)
    }

    /// Bookmarks for the shapes that are due after this commit, and were told nothing else.
    @inline(__always)
    func bookmarkDueShapes() {
        while let shape = quietShapes.first {
            let due = shape._withUnsafeGuaranteedRef { bookmarkTime(of: $0) }
            guard due <= now else {
                if due < bookmarkDeadline ?? .max { bookmarkDeadline = due }
                return
            }
            shape._withUnsafeGuaranteedRef { bookmark($0, atOnce: true) }
        }
    }

    /// When a shape is due, as far as is known now, in milliseconds since 1970.
    ///
    /// After enough commits it is due soon, but a busy bus makes them in a fraction of a millisecond, and bookmarks for many
    /// idle subscriptions would be most of what it does: so there is a pause between two. `max`: it knows the revision.
    @inline(__always)
    private func bookmarkTime(of shape: Shape) -> Int {
        let behind = revision - shape.lastTold
        if behind == 0 { return .max }
        return shape.lastToldAt
            + (behind < Limits.bookmarkCommits ? Limits.bookmarkMilliseconds : Limits.bookmarkPause)
    }

    /// How many subscription shapes wait for their time; each must have a subscriber.
    package var shapesAwaitingBookmark: Int { quietShapes.count }

    /// Bookmarks for the shapes whose time has come.
    func bookmarkAfterTime() {
        guard let deadline = bookmarkDeadline, deadline <= now else { return }
        bookmarkDeadline = nil
        while let shape = quietShapes.first {
            let due = shape._withUnsafeGuaranteedRef { bookmarkTime(of: $0) }
            guard due <= now else {
                if due < .max { bookmarkDeadline = due }
                break
            }
            shape._withUnsafeGuaranteedRef { bookmark($0) }
        }
        publication.ordered.sort { ($0.connection.id, $0.number) < ($1.connection.id, $1.number) }
        for subscription in publication.ordered { writeBookmark(to: subscription) }
        publication.ordered.removeAll(keepingCapacity: true)
    }

    /// Notes a shape's subscriptions for a bookmark, to be written in the order of events.
    private func bookmark(_ shape: Shape, atOnce: Bool = false) {
        if shape.cohort != nil { endCohort(of: shape) }
        noteTold(shape)
        for place in 0..<shape.liveCount {
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
