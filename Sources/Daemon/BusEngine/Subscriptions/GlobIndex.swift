import BusProtocol

/// Subscriber groups whose patterns have wildcards, by what the names that match begin with: a new store finds its
/// groups without looking at all others.
struct GlobIndex {
    /// What a pattern and an address must have in common.
    private struct Key: Hashable {
        /// The type, where the pattern names one.
        let type: [UInt8]?
        let prefix: ArraySlice<UInt8>
    }

    /// Longer prefixes narrow the search little, and each length is one look-up per new store.
    private static let longestPrefix = 16

    private var groups: [Key: ContiguousArray<SubscriberGroup>] = [:]
    /// How many groups have a prefix of each length.
    private var lengths = [Int](repeating: 0, count: longestPrefix + 1)

    private(set) var count = 0
    var isEmpty: Bool { count == 0 }

    /// Counts the patterns that begin like this one, and those of them that a user made; each is tested for every store
    /// whose name does.
    func countAlike(_ pattern: AddressPattern, of user: User) -> (all: Int, own: Int) {
        guard let alike = groups[Self.key(of: pattern)] else { return (0, 0) }
        return (alike.count, alike.count { $0.maker === user })
    }

    mutating func add(_ group: SubscriberGroup) {
        let key = Self.key(of: group.key.pattern)
        groups[key, default: []].append(group)
        lengths[key.prefix.count] += 1
        count += 1
    }

    mutating func remove(_ group: SubscriberGroup) {
        let key = Self.key(of: group.key.pattern)
        guard let place = groups[key]?.lastIndex(where: { $0 === group }) else { return }
        groups[key]!.remove(at: place)
        if groups[key]!.isEmpty { groups[key] = nil }
        lengths[key.prefix.count] -= 1
        count -= 1
    }

    /// Visits the groups that want a store; returns how many were looked at.
    func forEach(wanting name: String, ofType type: String, _ body: (SubscriberGroup) -> Void) -> Int {
        var looked = 0
        let (name, type) = (Array(name.utf8), Array(type.utf8))
        for length in 0...min(Self.longestPrefix, name.count) where lengths[length] > 0 {
            for wanted in [type, nil] {
                guard let candidates = groups[Key(type: wanted, prefix: name[..<length])] else { continue }
                looked += candidates.count
                for group in candidates where group.wants(name, ofType: type) { body(group) }
            }
        }
        return looked
    }

    private static func key(of pattern: AddressPattern) -> Key {
        Key(
            type: pattern.type.isLiteral ? pattern.type.pattern : nil,
            prefix: pattern.name.literalPrefix.prefix(longestPrefix))
    }
}

extension SubscriberGroup {
    func wants(_ name: [UInt8], ofType type: [UInt8]) -> Bool {
        type.withUnsafeBytes { key.pattern.type.matches($0) }
            && name.withUnsafeBytes { key.pattern.name.matches($0) }
    }
}
