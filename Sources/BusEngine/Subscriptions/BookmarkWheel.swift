/// Which shapes are due for a bookmark at which revision: one slot per revision, so a commit looks at one.
///
/// The shapes of a slot are a list through themselves, so that one comes and goes without memory being taken or a
/// reference counted, and one whose last subscription ends leaves nothing behind. The engine holds them.
struct BookmarkWheel: ~Copyable {
    /// A power of two, and more than anybody waits for.
    private static let size = 1024
    /// The first shape of each slot.
    private let slots: UnsafeMutablePointer<Unmanaged<Shape>?>

    /// How many shapes wait here.
    private(set) var count = 0

    /// Where a shape stands: its slot, and its neighbours there.
    struct Place {
        fileprivate let slot: Int
        fileprivate var before: Unmanaged<Shape>?
        fileprivate var after: Unmanaged<Shape>?
    }

    init() {
        slots = .allocate(capacity: Self.size)
        slots.initialize(repeating: nil, count: Self.size)
    }

    deinit { slots.deallocate() }

    /// Looks at `shape` again when the revision reaches `due`, at most `Limits.bookmarkCommits` ahead.
    mutating func add(_ shape: Shape, due: Int) {
        precondition(shape.wheelPlace == nil, "A shape waits for one bookmark at a time.")
        let slot = due & (Self.size - 1)
        let first = slots[slot]
        first?._withUnsafeGuaranteedRef { $0.wheelPlace?.before = .passUnretained(shape) }
        shape.wheelPlace = Place(slot: slot, before: nil, after: first)
        slots[slot] = .passUnretained(shape)
        count += 1
    }

    /// Forgets a shape.
    mutating func remove(_ shape: Shape) {
        guard let place = shape.wheelPlace else { return }
        shape.wheelPlace = nil
        place.after?._withUnsafeGuaranteedRef { $0.wheelPlace?.before = place.before }
        if let before = place.before {
            before._withUnsafeGuaranteedRef { $0.wheelPlace?.after = place.after }
        } else {
            slots[place.slot] = place.after
        }
        count -= 1
    }

    /// Takes one of the shapes due at `revision`, until there is none left.
    @inline(__always)
    mutating func take(at revision: Int) -> Unmanaged<Shape>? {
        guard let shape = slots[revision & (Self.size - 1)] else { return nil }
        shape._withUnsafeGuaranteedRef { remove($0) }
        return shape
    }
}
