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

    /// Writes a value that was made of this one: members of objects in the order that they have here, then those that are not here.
    package func append(_ value: JSON, to writer: ByteWriter) {
        switch (content, value) {
        case (.object(let written), .object(let object)) where !object.isEmpty:
            let known = written.members.compactMap { member in object[member.key].map { (member, $0) } }
            let others = object.members.filter { written[$0.key] == nil }
            var mark = UInt8(ascii: "{")
            for (member, value) in known {
                writer.append(mark, member: member.key)
                member.value.append(value, to: writer)
                mark = UInt8(ascii: ",")
            }
            for member in others {
                writer.append(mark, member: member.key)
                writer.append(json: member.value)
                mark = UInt8(ascii: ",")
            }
            writer.append(UInt8(ascii: "}"))
        case (.array(let written), .array(let elements)) where written.count == elements.count:
            writer.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { writer.append(UInt8(ascii: ",")) }
                written[index].append(element, to: writer)
            }
            writer.append(UInt8(ascii: "]"))
        default: writer.append(json: value)
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
