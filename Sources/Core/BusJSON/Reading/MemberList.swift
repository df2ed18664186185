/// The members of an object while it is read: few in memory that the reader lends from its stack, sorted as
/// they come; many in an array, sorted at the end.
///
/// So an object takes one allocation of exactly its size, and duplicates are found in O(n log n).
struct MemberList {
    /// How many members the lent memory holds; insertion in order is quadratic, so they stay few.
    static let fewest = 16

    private let lent: UnsafeMutablePointer<JSONObject.Member>
    private var count = 0
    /// All the members, once the lent memory does not hold them.
    private var many: [JSONObject.Member] = []

    /// Uses `memory`, uninitialised, of `fewest` members. One of `finish` and `discard` must be called.
    init(_ memory: UnsafeMutableBufferPointer<JSONObject.Member>) {
        lent = memory.baseAddress!
    }

    /// Adds a member; false if its key is seen to stand there already. Others show at the end.
    @inline(__always)
    mutating func add(_ key: consuming String, _ value: consuming JSON) -> Bool {
        guard count < Self.fewest, many.isEmpty else {
            addToMany(JSONObject.Member(key: key, value: value))
            return true
        }
        // Compared where they stand: a copy of a key would count references.
        let new = lent + count
        new.initialize(to: JSONObject.Member(key: key, value: value))
        count &+= 1
        if count == 1 { return true }
        let order = Self.order(new - 1, new)
        return order < 0 || (order > 0 && insertLast())
    }

    /// The order of two members' keys.
    @inline(__always)
    private static func order(
        _ one: UnsafeMutablePointer<JSONObject.Member>, _ other: UnsafeMutablePointer<JSONObject.Member>
    ) -> Int {
        let (a, b) = (SmallText(of: one.pointer(to: \.key)!), SmallText(of: other.pointer(to: \.key)!))
        if let a, let b { return a.order(b) }
        return UTF8Order.compare(one.pointee.key, other.pointee.key)
    }

    /// The last member belongs before others; false if its key stands there already.
    @inline(never)
    private func insertLast() -> Bool {
        let last = lent + (count - 1)
        var index = count - 2
        while index > 0 {
            let order = Self.order(lent + (index - 1), last)
            if order == 0 { return false }
            if order < 0 { break }
            index -= 1
        }
        let member = last.move()
        (lent + index + 1).moveInitialize(from: lent + index, count: count - 1 - index)
        (lent + index).initialize(to: member)
        return true
    }

    private mutating func addToMany(_ member: consuming JSONObject.Member) {
        if many.isEmpty {
            many.reserveCapacity(4 * Self.fewest)
            for index in 0..<count { many.append((lent + index).move()) }
            count = 0
        }
        many.append(member)
    }

    /// Gives the object; nil if a key stands there twice.
    mutating func finish() -> JSONObject? {
        guard many.isEmpty else {
            let isSorted = zip(many, many.dropFirst()).allSatisfy { UTF8Order.precedes($0.key, $1.key) }
            return isSorted ? JSONObject(sorted: many) : JSONObject(distinct: many)
        }
        var members: [JSONObject.Member] = []
        members.reserveCapacity(count)
        for index in 0..<count { members.append((lent + index).move()) }
        count = 0
        return JSONObject(sorted: members)
    }

    /// Gives up the members read so far.
    mutating func discard() {
        lent.deinitialize(count: count)
        count = 0
        many = []
    }
}
