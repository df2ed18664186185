import BusJSON

/// One write of an action, applied slowly: every container on the way is made again.
struct ModelWrite {
    let kind: String
    /// With what the payload names filled in, one whole key each.
    let path: [String]
    let value: JSON
    /// Whether it is that of one member of a patch.
    var isPatch = false

    /// What fails, and where; without a path where none is named.
    struct Failure: Error {
        let path: String?
    }

    static let kinds = ["set", "unset", "increment", "toggle", "append", "remove", "merge"]

    func apply(to state: JSONObject) throws -> JSONObject {
        guard let result = try apply(to: .object(state), path[...])?.object else { throw failure }
        return result
    }

    private var failure: Failure { Failure(path: path.joined(separator: ".")) }

    /// What stands there afterwards; nil where nothing does. A failure names the path as far as it leads.
    private func apply(to place: JSON?, _ path: ArraySlice<String>) throws -> JSON? {
        guard let key = path.first else { return try changed(place) }
        let rest = path.dropFirst()
        let failure = Failure(path: self.path.dropLast(rest.count).joined(separator: "."))
        switch place {
        case .object(var members)?:
            if members[key] == nil, !rest.isEmpty { throw failure }
            members[key] = try apply(to: members[key], rest)
            return .object(members)
        case .array(var elements)?:
            guard let index = Int(key), index >= 0 else { throw failure }
            if index == elements.count, rest.isEmpty, kind == "set" { return .array(elements + [value]) }
            guard index < elements.count else { throw failure }
            if let element = try apply(to: elements[index], rest) {
                elements[index] = element
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        default: throw failure
        }
    }

    private func changed(_ old: JSON?) throws -> JSON? {
        if kind == "set" { return value }
        guard let old else { throw failure }
        switch (kind, old) {
        case ("unset", _): return nil
        case ("increment", .int), ("increment", .double):
            guard value.double != nil,
                let sum = try? ModelExpression.evaluate(["+": [old, value]], on: .null)
            else { throw failure }
            return sum
        case ("toggle", .bool(let flag)): return .bool(!flag)
        case ("append", .array(let elements)): return .array(elements + [value])
        case ("remove", .array(let elements)):
            return .array(elements.filter { !ModelExpression.areAlike($0, value) })
        case ("merge", _): return Self.merged(value, into: old)
        default: throw failure
        }
    }

    /// RFC 7396, word by word.
    static func merged(_ patch: JSON, into target: JSON?) -> JSON {
        guard let patch = patch.object else { return patch }
        var result = target?.object ?? [:]
        for member in patch {
            result[member.key] = member.value.isNull ? nil : merged(member.value, into: result[member.key])
        }
        return .object(result)
    }
}
