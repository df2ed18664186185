extension JSON {
    /// Deep equality in which numbers are their values: `1` equals `1.0`, and `0.0` equals `-0.0`.
    public func equalsNumerically(_ other: JSON) -> Bool {
        switch (self, other) {
        case (.int(let a), .double(let b)): Int(exactly: b) == a
        case (.double(let a), .int(let b)): Int(exactly: a) == b
        case (.double(let a), .double(let b)): a == b
        case (.array(let a), .array(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.equalsNumerically($1) }
        case (.object(let a), .object(let b)):
            a.count == b.count
                && zip(a.members, b.members).allSatisfy {
                    UTF8Order.equal($0.key, $1.key) && $0.value.equalsNumerically($1.value)
                }
        default: self == other
        }
    }
}
