/// A value while it is encoded: finished, or a container that may still grow, because the caller that requested it
/// holds on to it.
enum EncodedPart {
    case value(JSON)
    case object(EncodedObject)
    case array(EncodedArray)
    /// A superclass's encoder, whose value is known in the end.
    case encoding(JSONEncoding)

    var json: JSON {
        switch self {
        case .value(let value): value
        case .object(let object): object.json
        case .array(let array): array.json
        case .encoding(let encoding): encoding.json
        }
    }
}

/// The members of an object so far, in the order in which they came.
final class EncodedObject {
    private var members: [JSONObject.Member] = []
    /// The members that are not finished, by their places.
    private var open: [(place: Int, part: EncodedPart)] = []

    func set(_ key: String, to value: JSON) {
        members.append(.init(key: key, value: value))
    }

    func set(_ key: String, to part: EncodedPart) {
        open.append((members.count, part))
        members.append(.init(key: key, value: .null))
    }

    /// The container that was opened for a key before: asking again goes on with it.
    func part(of key: String) -> EncodedPart? {
        open.last { UTF8Order.equal(members[$0.place].key, key) }?.part
    }

    /// The finished object. A member that was written twice has its last value.
    var json: JSON {
        for (place, part) in open { members[place].value = part.json }
        let isSorted = zip(members, members.dropFirst()).allSatisfy { UTF8Order.precedes($0.key, $1.key) }
        if isSorted { return .object(JSONObject(sorted: members)) }
        if let object = JSONObject(distinct: members) { return .object(object) }
        var object = JSONObject()
        for member in members { object[member.key] = member.value }
        return .object(object)
    }
}

/// The elements of an array so far.
final class EncodedArray {
    private var elements: [JSON] = []
    private var open: [(place: Int, part: EncodedPart)] = []

    var count: Int { elements.count }

    func append(_ value: JSON) { elements.append(value) }

    func append(_ part: EncodedPart) {
        open.append((elements.count, part))
        elements.append(.null)
    }

    var json: JSON {
        for (place, part) in open { elements[place] = part.json }
        return .array(elements)
    }
}
