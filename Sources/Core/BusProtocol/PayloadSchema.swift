import BusJSON

/// The payload that an action accepts. It is checked once per dispatch, before it reaches a store.
///
/// Declared and compiled types both have one, so that they can't be told apart on the wire. It never changes.
package final class PayloadSchema: Sendable {
    package struct Member: Sendable {
        package let name: String
        package let type: PayloadType
        package let isOptional: Bool
        /// The default for an absent member.
        package let fallback: JSON?

        package init(name: String, type: PayloadType, isOptional: Bool, fallback: JSON?) {
            self.name = name
            self.type = type
            self.isOptional = isOptional
            self.fallback = fallback
        }
    }

    /// Ascending by the bytes of their names, as the members of a payload are.
    package let members: [Member]
    private let hasFallbacks: Bool

    package init(_ members: [Member]) {
        self.members = members.sorted { UTF8Order.precedes($0.name, $1.name) }
        hasFallbacks = members.contains { $0.fallback != nil }
    }

    package var names: [String] { members.map(\.name) }

    package func member(_ name: String) -> Member? { members.first { UTF8Order.equal($0.name, name) } }

    /// Checks a payload and fills in absent members; a complete one is returned unchanged.
    package func accept(_ payload: JSONObject, by action: String) throws(PayloadFailure) -> JSONObject {
        if isComplete(payload) { return payload }
        let given = payload.members
        var place = 0
        var filled = false
        for member in members {
            guard place < given.count, UTF8Order.equal(given[place].key, member.name) else {
                // This member comes later in the schema, or nowhere: then it is left over at the end.
                if place < given.count, UTF8Order.precedes(given[place].key, member.name) {
                    throw undeclared(given[place].key, action)
                }
                if member.fallback != nil {
                    filled = true
                } else if !member.isOptional {
                    throw missing(member, in: payload, action)
                }
                continue
            }
            guard member.type.admits(given[place].value) else {
                throw PayloadFailure(
                    "\(action) takes \(member.type.phrase) as payload.\(member.name), "
                        + "not \(given[place].value.phrase).")
            }
            place += 1
        }
        guard place == given.count else { throw undeclared(given[place].key, action) }
        return filled ? completed(payload) : payload
    }

    /// Whether a payload has exactly the declared members, each of its type: then there is nothing to refuse or to
    /// fill in, and most payloads are so.
    package func isComplete(_ payload: JSONObject) -> Bool {
        payload.members.withUnsafeBufferPointer { given in
            members.withUnsafeBufferPointer { declared in
                guard given.count == declared.count else { return false }
                for place in declared.indices
                where !UTF8Order.equal(given[place].key, declared[place].name)
                    || !declared[place].type.admits(given[place].value)
                {
                    return false
                }
                return true
            }
        }
    }

    private func completed(_ payload: JSONObject) -> JSONObject {
        var payload = payload
        for member in members {
            if let fallback = member.fallback, payload[member.name] == nil { payload[member.name] = fallback }
        }
        return payload
    }

    /// An undeclared member explains a missing one better than the absence does.
    private func missing(_ member: Member, in payload: JSONObject, _ action: String) -> PayloadFailure {
        if let stranger = payload.keys.first(where: { self.member($0) == nil }) {
            return undeclared(stranger, action)
        }
        return PayloadFailure("\(action) needs \(member.type.phrase) as payload.\(member.name); add it.")
    }

    private func undeclared(_ name: String, _ action: String) -> PayloadFailure {
        let shown = name.shortened(to: 200)
        if members.isEmpty {
            return PayloadFailure("\(action) takes no payload; leave payload.\(shown) out.")
        }
        return PayloadFailure("\(action) takes no payload.\(shown); \(suggestion(for: name, among: names))")
    }
}

extension JSON {
    /// The kind of this value, with its article.
    package var phrase: String {
        switch self {
        case .null: "null"
        case .int, .array, .object: "an \(kind)"
        default: "a \(kind)"
        }
    }
}
