import BusJSON

extension JSON {
    /// Deep equality by value, as expressions see it: `1` equals `1.0`, everything else must be the same.
    package func isDeeplyEqual(to other: JSON) -> Bool {
        switch (self, other) {
        case (.int(let a), .double(let b)): Double(a) == b && Int(exactly: b) == a
        case (.double(let a), .int(let b)): a == Double(b) && Int(exactly: a) == b
        case (.double(let a), .double(let b)): a == b
        case (.array(let a), .array(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.isDeeplyEqual(to: $1) }
        case (.object(let a), .object(let b)):
            a.count == b.count
                && zip(a.members, b.members).allSatisfy {
                    UTF8Order.equal($0.key, $1.key) && $0.value.isDeeplyEqual(to: $1.value)
                }
        default: self == other
        }
    }

    /// What a merge patch leaves when there is nothing to merge it into: objects lose their null members.
    package var withoutNullMembers: JSON {
        guard case .object(let object) = self else { return self }
        return .object(
            JSONObject(
                sorted: object.members.compactMap { member in
                    member.value.isNull
                        ? nil : JSONObject.Member(key: member.key, value: member.value.withoutNullMembers)
                }))
    }
}
