import BusJSON

/// Members of a state that something reads, each with a bit, so that what a write means to many readers is one comparison of
/// bits. Beyond 63 members several share one, and then some readers are asked in vain.
struct WatchedMembers: Sendable {
    private let members: [(name: String, bit: UInt64)]

    /// Set by any write: whoever reads everything waits for it.
    static let anything = UInt64(1) << 63

    /// The members that any of the readers reads.
    init(_ names: [String]) {
        var distinct: [String] = []
        for name in names.sorted(by: UTF8Order.precedes) {
            if distinct.last.map({ UTF8Order.equal($0, name) }) != true { distinct.append(name) }
        }
        members = distinct.enumerated().map { (name: $1, bit: UInt64(1) << UInt64(min($0, 62))) }
    }

    /// What of the writes concerns somebody who reads these.
    func mask(_ reads: StateReads) -> UInt64 {
        if reads.everything { return Self.anything }
        return members.reduce(0) { reads.contains($1.name) ? $0 | $1.bit : $0 }
    }

    /// What a change of a member means to the readers.
    func bits(of name: String) -> UInt64 {
        members.reduce(Self.anything) { UTF8Order.equal($1.name, name) ? $0 | $1.bit : $0 }
    }
}
