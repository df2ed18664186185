/// The shapes that may need a bookmark, in the order in which they were told something last: who waits longest comes first,
/// so a commit looks at one of them.
///
/// They are a list through themselves, so that one comes and goes without memory being taken or a reference counted, and
/// one whose last subscription ends leaves nothing behind. The engine holds them.
struct QuietShapes: ~Copyable {
    private(set) var first: Unmanaged<Shape>?
    private var last: Unmanaged<Shape>?

    /// How many there are.
    private(set) var count = 0

    /// A shape's neighbours.
    struct Place {
        fileprivate var before: Unmanaged<Shape>?
        fileprivate var after: Unmanaged<Shape>?
    }

    /// Takes in a shape behind all others.
    mutating func add(_ shape: Shape) {
        precondition(shape.quietPlace == nil, "A shape waits for one bookmark at a time.")
        shape.quietPlace = Place(before: last, after: nil)
        if let last {
            last._withUnsafeGuaranteedRef { $0.quietPlace?.after = .passUnretained(shape) }
        } else {
            first = .passUnretained(shape)
        }
        last = .passUnretained(shape)
        count += 1
    }

    /// Forgets a shape.
    mutating func remove(_ shape: Shape) {
        guard let place = shape.quietPlace else { return }
        shape.quietPlace = nil
        if let after = place.after {
            after._withUnsafeGuaranteedRef { $0.quietPlace?.before = place.before }
        } else {
            last = place.before
        }
        if let before = place.before {
            before._withUnsafeGuaranteedRef { $0.quietPlace?.after = place.after }
        } else {
            first = place.after
        }
        count -= 1
    }

    /// A shape has been told something.
    @inline(__always)
    mutating func moveToEnd(_ shape: Shape) {
        // Who is told all the time mostly is the last already.
        if shape.quietPlace?.after == nil { return }
        remove(shape)
        add(shape)
    }
}
