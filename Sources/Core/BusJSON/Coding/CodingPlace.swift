/// Where in a value a coder stands, as links from the inside out: one small object per container, made into a
/// list only for an error.
final class CodingPlace: Sendable {
    let parent: CodingPlace?
    let key: any CodingKey
    /// How many steps lead here from the whole value.
    let depth: Int

    init(_ key: any CodingKey, in parent: CodingPlace?) {
        self.key = key
        self.parent = parent
        depth = Self.depth(of: parent) + 1
    }

    /// The depth of a place, of which the whole value has none.
    static func depth(of place: CodingPlace?) -> Int { place?.depth ?? 0 }

    /// The keys that lead here, outermost first.
    static func path(to place: CodingPlace?) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var rest = place
        while let place = rest {
            path.append(place.key)
            rest = place.parent
        }
        path.reverse()
        return path
    }
}

/// A step of a path that no type has named: an index of an array, or the place of a superclass.
struct PlainCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(index: Int) {
        stringValue = String(index)
        intValue = index
    }

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) { self.init(index: intValue) }

    /// Where a superclass is coded, unless it says where.
    static let superclass = PlainCodingKey(stringValue: "super")
}
