import BusJSON

/// Why the model expects a request to be refused: the code in the reply.
struct Refusal: Error {
    let code: String
    /// Whichever store comes first decides which of several codes it is.
    var others: Set<String> = []

    init(_ code: String) { self.code = code }

    static let rejected = Refusal("rejected")
}

/// A write to a state, carried out slowly: every container on the way is built anew, and nothing is remembered.
enum ModelWrite {
    case set(JSON)
    case unset
    case increment(Int)
    case toggle
    case append(JSON)
    case remove(JSON)
    case merge(JSON)

    func applied(to state: JSON, at path: [String]) throws -> JSON {
        guard let result = try applied(to: state, at: path[...]) else { throw Refusal.rejected }
        return result
    }

    /// What stands at a path afterwards: nil where nothing does any more.
    private func applied(to place: JSON?, at path: ArraySlice<String>) throws -> JSON? {
        guard let key = path.first else { return try changed(place) }
        let rest = path.dropFirst()
        switch place {
        case .object(var members)?:
            if members[key] == nil, !rest.isEmpty { throw Refusal.rejected }
            members[key] = try applied(to: members[key], at: rest)
            return .object(members)
        case .array(var elements)?:
            guard let index = Int(key), index >= 0, String(index) == key else { throw Refusal.rejected }
            if index == elements.count, rest.isEmpty, case .set(let value) = self {
                return .array(elements + [value])
            }
            guard index < elements.count else { throw Refusal.rejected }
            if let element = try applied(to: elements[index], at: rest) {
                elements[index] = element
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        default: throw Refusal.rejected
        }
    }

    private func changed(_ old: JSON?) throws -> JSON? {
        if case .set(let value) = self { return value }
        guard let old else { throw Refusal.rejected }
        switch (self, old) {
        case (.unset, _): return nil
        case (.increment(let amount), .int(let number)):
            let (sum, overflow) = number.addingReportingOverflow(amount)
            if overflow { throw Refusal.rejected }
            return .int(sum)
        case (.toggle, .bool(let flag)): return .bool(!flag)
        case (.append(let value), .array(let elements)): return .array(elements + [value])
        case (.remove(let value), .array(let elements)):
            return .array(elements.filter { !Self.areAlike($0, value) })
        case (.merge(let patch), _): return Self.merged(patch, into: old)
        default: throw Refusal.rejected
        }
    }

    /// RFC 7396, word by word.
    static func merged(_ patch: JSON, into target: JSON?) -> JSON {
        guard let patch = patch.object else { return patch }
        var result = target?.object ?? [:]
        for member in patch.members {
            result[member.key] = member.value.isNull ? nil : merged(member.value, into: result[member.key])
        }
        return .object(result)
    }

    /// Numbers are alike by value, everything else if it is the same.
    private static func areAlike(_ one: JSON, _ other: JSON) -> Bool {
        switch (one, other) {
        case (.int(let whole), .double(let number)), (.double(let number), .int(let whole)):
            Int(exactly: number) == whole
        case (.double(let a), .double(let b)): a == b
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(areAlike)
        case (.object(let a), .object(let b)):
            a.count == b.count
                && zip(a.members, b.members).allSatisfy {
                    Array($0.key.utf8) == Array($1.key.utf8) && areAlike($0.value, $1.value)
                }
        default: one == other
        }
    }
}
