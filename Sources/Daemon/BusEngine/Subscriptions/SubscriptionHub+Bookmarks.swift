import BusJSON
import BusMachine
import BusProtocol

/// Bookmarks move the resume point of subscriptions for which nothing changes.
extension SubscriptionHub {
    /// A group's subscribers are notified of this commit, or of its revision by a bookmark.
    @inline(__always)
    func noteNotified(_ group: SubscriberGroup) {
        group.lastNotified = machine.revision
        group.lastNotifiedAt = clock.now
        bookmarkQueue.moveToEnd(group)
    }

    /// Bookmarks for the groups that are due after this commit, and were notified of nothing else.
    @inline(__always)
    func bookmarkDueGroups() {
        while let group = bookmarkQueue.first {
            let due = group._withUnsafeGuaranteedRef { bookmarkTime(of: $0) }
            guard due <= clock.now else {
                if due < bookmarkDeadline ?? .max { bookmarkDeadline = due }
                return
            }
            group._withUnsafeGuaranteedRef { bookmark($0, atOnce: true) }
        }
    }

    /// When a group is due, as far as is known now, in milliseconds since 1970.
    ///
    /// After enough commits it is due soon, but a busy bus makes them in a fraction of a millisecond, and
    /// bookmarks for many idle subscriptions would be most of its work: so there is a pause between two.
    /// `max`: it knows the revision.
    @inline(__always)
    private func bookmarkTime(of group: SubscriberGroup) -> Int {
        let behind = machine.revision - group.lastNotified
        if behind == 0 { return .max }
        return group.lastNotifiedAt
            + (behind < DaemonLimits.bookmarkCommits
                ? DaemonLimits.bookmarkMilliseconds : DaemonLimits.bookmarkPause)
    }

    /// Bookmarks for the groups whose time has come.
    func bookmarkAfterTime() {
        guard let deadline = bookmarkDeadline, deadline <= clock.now else { return }
        bookmarkDeadline = nil
        while let group = bookmarkQueue.first {
            let due = group._withUnsafeGuaranteedRef { bookmarkTime(of: $0) }
            guard due <= clock.now else {
                if due < .max { bookmarkDeadline = due }
                break
            }
            group._withUnsafeGuaranteedRef { bookmark($0) }
        }
        publication.ordered.sort { ($0.connection.id, $0.number) < ($1.connection.id, $1.number) }
        for subscription in publication.ordered { writeBookmark(to: subscription) }
        publication.ordered.removeAll(keepingCapacity: true)
    }

    /// Queues a bookmark for a group's subscriptions, to be written in the order of events.
    private func bookmark(_ group: SubscriberGroup, atOnce: Bool = false) {
        if group.multicast != nil { endMulticast(of: group) }
        noteNotified(group)
        for place in 0..<group.liveCount {
            Unmanaged.passUnretained(group.subscribers[place])._withUnsafeGuaranteedRef { subscription in
                // A connection's only subscription needs no ordering.
                if atOnce, !subscription.connection.delivery.subscriptions.areSeveral {
                    writeBookmark(to: subscription)
                } else {
                    publication.ordered.append(subscription)
                }
            }
        }
    }

    func writeBookmark(to subscription: Subscription) {
        Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
            guard subscription.from < machine.revision, connection.lagging == 0, connection.behind == 0,
                !connection.isClosing, !connections.isFull(connection)
            else { return }
            connections.write(to: connection) { writer in
                writer.write(atMost: 80) { pen in
                    pen.append(bookmarkFor: subscription.number, revision: machine.revision, revisionDigits)
                }
            }
            subscription.from = machine.revision
            totals.bookmarks += 1
        }
    }
}
