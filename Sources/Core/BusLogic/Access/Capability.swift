/// What a rule may allow.
package struct Capability: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// States: `get`, `stores`, `types`, subscriptions.
    package static let read = Capability(rawValue: 1)
    /// How states came to be: `history`, reads of the past, subscriptions to actions, `cause`.
    package static let history = Capability(rawValue: 2)
    package static let dispatch = Capability(rawValue: 4)
    package static let create = Capability(rawValue: 8)
    package static let drop = Capability(rawValue: 16)
    package static let revert = Capability(rawValue: 32)
    /// The bus as a whole: `reload`, counters, other clients' timers.
    package static let manage = Capability(rawValue: 64)
    package static let all: Capability = [.read, .history, .dispatch, .create, .drop, .revert, .manage]

    /// By the word that stands in a rule.
    package static let named: KeyValuePairs<String, Capability> = [
        "read": .read, "history": .history, "dispatch": .dispatch, "create": .create, "drop": .drop,
        "revert": .revert, "manage": .manage, "all": .all,
    ]

    /// The words of those in it, in the order in which they are documented.
    package var words: [String] {
        Self.named.filter { $0.value != .all && contains($0.value) }.map(\.key)
    }
}
