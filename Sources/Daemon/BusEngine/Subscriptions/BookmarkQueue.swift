/// The groups that may need a bookmark, in the order in which they were told something last: who waits longest comes first,
/// so a commit looks at one of them.
///
/// They are a list through themselves, so that one comes and goes without memory being taken or a reference counted, and
/// one whose last subscription ends leaves nothing behind. The engine holds them.
struct BookmarkQueue: ~Copyable {
    private(set) var first: Unmanaged<SubscriberGroup>?
    private var last: Unmanaged<SubscriberGroup>?

    /// How many there are.
    private(set) var count = 0

    /// A group's neighbours.
    struct Place {
        fileprivate var before: Unmanaged<SubscriberGroup>?
        fileprivate var after: Unmanaged<SubscriberGroup>?
    }

    /// Takes in a group behind all others.
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

    /// Forgets a group.
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

    /// A group has been told something.
    @inline(__always)
    mutating func moveToEnd(_ group: SubscriberGroup) {
        // Who is told all the time mostly is the last already.
        if group.bookmarkPlace?.after == nil { return }
        remove(group)
        add(group)
    }
}
