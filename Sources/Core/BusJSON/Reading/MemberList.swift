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
    mutating func add(_ key: String, _ value: consuming JSON) -> Bool {
        let member = JSONObject.Member(key: key, value: value)
        guard many.isEmpty, count < Self.fewest else {
            addToMany(member)
            return true
        }
        var index = count
        while index > 0 {
            let order = UTF8Order.compare(lent[index - 1].key, key)
            if order == 0 { return false }
            if order < 0 { break }
            index -= 1
        }
        if index < count { (lent + index + 1).moveInitialize(from: lent + index, count: count - index) }
        (lent + index).initialize(to: member)
        count += 1
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
