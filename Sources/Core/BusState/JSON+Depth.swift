import BusJSON

/// How deep states may nest, whichever kind of type they are of.
extension JSON {
    /// States nest at most this deep: an event wraps a state into up to four more levels, and a line has at
    /// most 64.
    package static let deepestState = 60

    /// True when this value nests at most `levels` deep; a scalar nests 0 levels.
    package func nests(atMost levels: Int) -> Bool {
        switch self {
        case .array(let elements): levels > 0 && elements.allSatisfy { $0.nests(atMost: levels - 1) }
        case .object(let object):
            levels > 0 && object.members.allSatisfy { $0.value.nests(atMost: levels - 1) }
        default: true
        }
    }
}
