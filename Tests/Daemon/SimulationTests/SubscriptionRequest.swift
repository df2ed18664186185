import BusJSON

extension Model {
    /// The part that a subscription with a pattern and a selection must show at a revision.
    func view(_ request: SubscriptionRequest, at revision: Int) -> [String: JSON]? {
        commits[revision].map { commit in
            commit.states.filter { request.matches($0.key) }.mapValues { request.project($0) }
        }
    }
}

/// What a simulated client asked for, with an oracle of its own for patterns and selections.
struct SubscriptionRequest {
    /// Exactly as sent: `store`, `type` or `match`.
    let kind: String
    let text: String
    let pointers: [[String]]?
    let format: String

    /// Its `select`.
    var selection: JSON? {
        pointers.map { .array($0.map { .string($0.map { "/" + $0 }.joined()) }) }
    }

    /// The answers of the slow matcher.
    private let known = KnownMatches()

    init(kind: String, text: String, pointers: [[String]]?, format: String) {
        (self.kind, self.text, self.pointers, self.format) = (kind, text, pointers, format)
    }

    func matches(_ address: String) -> Bool {
        if let isMatch = known.addresses[address] { return isMatch }
        let isMatch =
            switch kind {
            case "store": address == text
            case "type": address.hasPrefix(text + "/")
            default: Self.glob(Array(text), Array(address))
            }
        known.addresses[address] = isMatch
        return isMatch
    }

    /// Recursive and slow on purpose: nothing in common with the matcher of the bus.
    private static func glob(_ pattern: [Character], _ text: [Character]) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (0...text.count).contains { count in
                !text.prefix(count).contains("/")
                    && glob(Array(pattern.dropFirst()), Array(text.dropFirst(count)))
            }
        }
        guard let letter = text.first, letter == first || (first == "?" && letter != "/") else {
            return false
        }
        return glob(Array(pattern.dropFirst()), Array(text.dropFirst()))
    }

    func project(_ state: JSON) -> JSON {
        guard let pointers else { return state }
        var result = JSONObject()
        for pointer in pointers { Self.copy(pointer[...], from: state, into: &result) }
        return .object(result)
    }

    private static func copy(_ pointer: ArraySlice<String>, from value: JSON, into result: inout JSONObject) {
        guard let key = pointer.first, let member = value[key] else { return }
        if pointer.count == 1 || member.array != nil {
            result[key] = member
        } else if member.object != nil {
            var inner = result[key]?.object ?? JSONObject()
            copy(pointer.dropFirst(), from: member, into: &inner)
            result[key] = .object(inner)
        }
    }
}

private final class KnownMatches {
    var addresses: [String: Bool] = [:]
}
