import BusJSON

/// One value of a file with the place it stands at. Everything that people write for the bus, state types and
/// configuration, is read into these, so that every complaint about it can name a line.
package struct LocatedValue: Sendable {
    package enum Content: Sendable {
        /// Null, a boolean, a number or a string.
        case scalar(JSON)
        case array([LocatedValue])
        case object(LocatedObject)
    }

    package let content: Content
    package let place: Place

    package init(_ content: Content, at place: Place) {
        self.content = content
        self.place = place
    }
}

extension LocatedValue {
    /// The value without its places.
    package var json: JSON {
        switch content {
        case .scalar(let value): value
        case .array(let elements): .array(elements.map(\.json))
        case .object(let object): .object(object.json)
        }
    }

    /// Takes a value that did not come from a file; `name` stands in for the file's. It is refused when it
    /// nests deeper than `depthLimit`.
    package init(_ json: JSON, name: String, depthLimit: Int = defaultDepthLimit) throws(SourceError) {
        let place = Place(file: name, line: 0, column: 0)
        self = try Self.locate(json, at: place, levelsLeft: depthLimit)
    }

    private static func locate(
        _ json: JSON, at place: Place, levelsLeft: Int
    ) throws(SourceError) -> LocatedValue {
        switch json {
        case .array(let elements):
            guard levelsLeft > 0 else { throw SourceError(tooDeep, at: place) }
            var located: [LocatedValue] = []
            located.reserveCapacity(elements.count)
            for element in elements {
                located.append(try locate(element, at: place, levelsLeft: levelsLeft - 1))
            }
            return LocatedValue(.array(located), at: place)
        case .object(let object):
            guard levelsLeft > 0 else { throw SourceError(tooDeep, at: place) }
            var members: [LocatedObject.Member] = []
            members.reserveCapacity(object.count)
            for member in object.members {
                let value = try locate(member.value, at: place, levelsLeft: levelsLeft - 1)
                members.append(.init(key: member.key, place: place, value: value))
            }
            return LocatedValue(.object(LocatedObject(distinct: members, at: place)), at: place)
        default:
            return LocatedValue(.scalar(json), at: place)
        }
    }

    /// How deep a file may nest: two levels less than a line of the wire, whose replies wrap definitions.
    package static let defaultDepthLimit = 60
    package static let tooDeep = "This is nested too deeply; keep to \(defaultDepthLimit) levels."
}
