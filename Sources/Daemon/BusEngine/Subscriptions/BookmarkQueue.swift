/// The groups that may need a bookmark, in the order of their last event: the one that waits longest comes first, so a
/// commit looks at one of them.
///
/// It is an intrusive list, so that adding and removing a group allocates nothing and counts no reference, and a group
/// whose last subscription ends leaves nothing behind. The engine holds the groups.
struct BookmarkQueue: ~Copyable {
    private(set) var first: Unmanaged<SubscriberGroup>?
    private var last: Unmanaged<SubscriberGroup>?

    /// The number of groups.
    private(set) var count = 0

    /// A group's neighbours.
    struct Place {
        fileprivate var before: Unmanaged<SubscriberGroup>?
        fileprivate var after: Unmanaged<SubscriberGroup>?
    }

    /// Adds a group at the end.
    mutating func add(_ group: SubscriberGroup) {
        precondition(group.bookmarkPlace == nil, "A group waits for one bookmark at a time.")
        group.bookmarkPlace = Place(before: last, after: nil)
        if let last {
            last._withUnsafeGuaranteedRef { $0.bookmarkPlace?.after = .passUnretained(group) }
        } else {
            first = .passUnretained(group)
        }
        last = .passUnretained(group)
        count += 1
    }

    /// Removes a group.
    mutating func remove(_ group: SubscriberGroup) {
        guard let place = group.bookmarkPlace else { return }
        group.bookmarkPlace = nil
        if let after = place.after {
            after._withUnsafeGuaranteedRef { $0.bookmarkPlace?.before = place.before }
        } else {
            last = place.before
        }
        if let before = place.before {
            before._withUnsafeGuaranteedRef { $0.bookmarkPlace?.after = place.after }
        } else {
            first = place.after
        }
        count -= 1
    }

    /// A group has been notified.
    @inline(__always)
    mutating func moveToEnd(_ group: SubscriberGroup) {
        // A group that is notified all the time mostly is the last already.
        if group.bookmarkPlace?.after == nil { return }
        remove(group)
        add(group)
    }
}
