/// How a lens continues where key paths end: into an element of a collection, or through closures.
enum LensStep: Sendable {
    case index(Int)
    case id(any Hashable & Sendable)
    case key(any Hashable & Sendable)
    /// The element that the action names.
    case each
    /// Closures, which only their own name distinguishes.
    case closures(ObjectIdentifier)

    var isOfClosures: Bool { if case .closures = self { true } else { false } }

    /// Whether the two lead to different places for certain.
    func isApart(from other: LensStep) -> Bool {
        switch (self, other) {
        case (.index(let one), .index(let two)): one != two
        case (.id(let one), .id(let two)), (.key(let one), .key(let two)):
            AnyHashable(one) != AnyHashable(two)
        // The reach of closures can't be known; they are assumed to be apart from all but themselves.
        case (.closures(let one), .closures(let two)): one != two
        case (.closures, _), (_, .closures): true
        default: false
        }
    }
}

extension LensStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .index(let index): "[\(index)]"
        case .id(let id): "[id: \(id)]"
        case .key(let key): "[\(key)]"
        case .each: "[each]"
        case .closures: ".(closures)"
        }
    }
}
