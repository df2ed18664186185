import BusJSON

/// Bookmarks move the resume point of subscriptions for which nothing changes.
extension Engine {
    /// Looks at the shapes that are due at this revision.
    func bookmarkDueShapes() {
        if bookmarkDeadline == nil, !shapes.isEmpty { bookmarkDeadline = now + Limits.bookmarkMilliseconds }
        for shape in bookmarks.take(at: revision) {
            // It may have gone meanwhile, or been told something since.
            guard shapes[shape.key] === shape else { continue }
            if shape.lastTold + Limits.bookmarkCommits <= revision { bookmark(shape) }
            bookmarks.add(shape, due: shape.lastTold + Limits.bookmarkCommits)
        }
    }

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970; nil: never.
    package var nextDeadline: Int? { bookmarkDeadline }

    /// Does what the time asks for.
    package func tick() {
        guard let deadline = bookmarkDeadline, deadline <= now else { return }
        var next: Int?
        for shape in shapes.values where !shape.key.actions && shape.lastTold < revision {
            let due = shape.lastToldAt + Limits.bookmarkMilliseconds
            if due <= now { bookmark(shape) } else { next = min(next ?? due, due) }
        }
        // Not more often than once a second, however many shapes there are.
        bookmarkDeadline = next.map { max($0, now + 1000) }
    }

    private func bookmark(_ shape: Shape) {
        shape.lastTold = revision
        shape.lastToldAt = now
        for subscription in shape.subscribers where subscription.from < revision {
            let connection = subscription.connection
            if subscription.catchUp != nil || connection.isClosing { continue }
            if connection.outbox.count >= outboxLimit { continue }
            write(to: connection) { writer in
                writer.append("{\"event\":\"bookmark\",\"sub\":")
                writer.append(decimal: subscription.number)
                writer.append(",\"revision\":")
                writer.append(decimal: self.revision)
                writer.append("}\n")
            }
            subscription.from = revision
            statistics.bookmarks += 1
        }
    }
}
