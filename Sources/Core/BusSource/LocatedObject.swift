import BusJSON
import BusProtocol

/// An object of a file: its members in the order they were written, each with the place of its key.
package struct LocatedObject: Sendable {
    package struct Member: Sendable {
        package let key: String
        /// Where the key stands.
        package let place: Place
        package let value: LocatedValue

        package init(key: String, place: Place, value: LocatedValue) {
            self.key = key
            self.place = place
            self.value = value
        }
    }

    /// In written order, no key twice.
    package let members: [Member]
    package let place: Place
    /// Indices of `members`, ascending by the keys' bytes.
    private let ascending: [Int]

    /// Takes members whose keys are known to be distinct.
    package init(distinct members: [Member], at place: Place) {
        self.members = members
        self.place = place
        ascending = members.indices.sorted { UTF8Order.precedes(members[$0].key, members[$1].key) }
    }

    /// Takes members as they were read; a key that stands there twice is refused where it comes again.
    package init(_ members: [Member], at place: Place) throws(SourceError) {
        self.init(distinct: members, at: place)
        var again: Int?
        for (left, right) in zip(ascending, ascending.dropFirst())
        where UTF8Order.equal(members[left].key, members[right].key) {
            again = min(again ?? .max, max(left, right))
        }
        guard let again else { return }
        let member = members[again]
        throw SourceError(FileWords.duplicate("key", member.key), at: member.place)
    }

    package subscript(key: String) -> LocatedValue? { member(key)?.value }

    /// The member `key` with the place of its key.
    package func member(_ key: String) -> Member? {
        var low = 0
        var high = ascending.count
        while low < high {
            let middle = (low + high) / 2
            let member = members[ascending[middle]]
            if UTF8Order.equal(member.key, key) { return member }
            if UTF8Order.precedes(member.key, key) { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    package var keys: [String] { members.map(\.key) }
    package var isEmpty: Bool { members.isEmpty }
    package var count: Int { members.count }

    package var json: JSONObject {
        JSONObject(sorted: ascending.map { .init(key: members[$0].key, value: members[$0].value.json) })
    }
}

extension LocatedObject {
    /// The members that are not in `valid`.
    package func strangers(besides valid: [String]) -> [Member] {
        members.filter { member in !valid.contains { UTF8Order.equal($0, member.key) } }
    }

    /// What is wrong with the members that are not in `valid`; `owner` is what the object describes: "an action".
    package func unknownKeys(besides valid: [String], of owner: String) -> [SourceError] {
        strangers(besides: valid).map {
            SourceError(FileWords.unknownKey($0.key, in: owner, among: valid), at: $0.place)
        }
    }

    /// Refuses a member that is not in `valid`.
    package func refuseMembers(besides valid: [String], of owner: String) throws(SourceError) {
        if let error = unknownKeys(besides: valid, of: owner).first { throw error }
    }

    /// The member `key`, which must be there.
    package func required(_ key: String, of owner: String) throws(SourceError) -> LocatedValue {
        if let value = self[key] { return value }
        throw SourceError("\(owner) needs a member \(key); add it.", at: place)
    }
}
