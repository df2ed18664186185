/// The members of a JSON object, sorted by the UTF-8 bytes of their keys.
///
/// One order for all objects makes equality, diffs and the canonical encoding linear walks, and a look-up a
/// binary search. Changing a member in place moves nothing; a new one moves those behind it.
@frozen
public struct JSONObject: Sendable {
    @frozen
    public struct Member: Sendable {
        public let key: String
        public var value: JSON

        @inlinable
        public init(key: String, value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// The members in ascending order of their keys' bytes, no key twice.
    @inlinable public var members: [Member] { storage }

    @usableFromInline var storage: [Member]

    @inlinable public init() { storage = [] }

    /// Takes members that are already sorted and distinct.
    public init(sorted members: [Member]) {
        storage = members
        assert(zip(members, members.dropFirst()).allSatisfy { UTF8Order.precedes($0.key, $1.key) })
    }

    /// Sorts members of any order; nil when a key stands there twice.
    public init?(distinct members: [Member]) {
        let sorted = members.sorted { UTF8Order.precedes($0.key, $1.key) }
        for (left, right) in zip(sorted, sorted.dropFirst()) where UTF8Order.equal(left.key, right.key) {
            return nil
        }
        storage = sorted
    }

    @inlinable public var count: Int { storage.count }
    @inlinable public var isEmpty: Bool { storage.isEmpty }
    public var keys: [String] { members.map(\.key) }

    /// Reads, replaces, adds (a value where there was none) or removes (nil) a member.
    public subscript(key: String) -> JSON? {
        get {
            let (index, found) = position(of: key)
            return found ? storage[index].value : nil
        }
        set {
            let (index, found) = position(of: key)
            switch (newValue, found) {
            case (let value?, true): storage[index].value = value
            case (let value?, false): storage.insert(Member(key: key, value: value), at: index)
            case (nil, true): storage.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Where `key` stands; nil when it is absent. `hint` is tried first, for readers that know the layout.
    @inlinable @inline(__always)
    public func index(of key: String, hint: Int = 0) -> Int? {
        if hint < storage.count, UTF8Order.equal(storage[hint].key, key) { return hint }
        let (index, found) = position(of: key)
        return found ? index : nil
    }

    /// Whether `key` stands at `index`, as far as one look tells: false also where only a
    /// comparison of long keys would.
    @inlinable @inline(__always)
    public func has(_ key: String, at index: Int) -> Bool {
        index < storage.count && UTF8Order.areSame(storage[index].key, key)
    }

    /// The value of `key`; nil when it is absent. `hint` is tried first.
    @inlinable @inline(__always)
    public func value(of key: String, hint: Int) -> JSON? {
        guard let index = index(of: key, hint: hint) else { return nil }
        return storage[index].value
    }

    /// The place of `key`, or the place it would be inserted at.
    public func position(of key: String) -> (index: Int, found: Bool) {
        storage.withUnsafeBufferPointer { members in
            var low = 0
            var high = members.count
            while low < high {
                let middle = (low + high) / 2
                let order = UTF8Order.compare(members[middle].key, key)
                if order == 0 { return (middle, true) }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return (low, false)
        }
    }

    /// Changes the value of the member at `index` where it stands, without copying its neighbours.
    @inlinable @inline(__always) @discardableResult
    public mutating func update<Result, Failure: Error>(
        at index: Int, _ body: (inout JSON) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(&storage[index].value)
    }

    /// Inserts a member whose place `position(of:)` gave.
    public mutating func insert(_ member: Member, at index: Int) {
        storage.insert(member, at: index)
    }

    /// Removes the member at `index` and returns its value.
    @discardableResult
    public mutating func remove(at index: Int) -> JSON {
        storage.remove(at: index).value
    }
}

extension JSONObject {
    /// True when both are the same members in memory, so that they are equal without a look at them.
    func sharesStorage(with other: JSONObject) -> Bool {
        members.withUnsafeBufferPointer { left in
            other.members.withUnsafeBufferPointer { right in
                left.baseAddress == right.baseAddress && left.count == right.count
            }
        }
    }
}

extension JSONObject: Equatable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.withUnsafeBufferPointer { left in
            right.members.withUnsafeBufferPointer { right in
                guard left.count == right.count else { return false }
                if left.baseAddress == right.baseAddress { return true }
                for index in left.indices {
                    guard UTF8Order.equal(left[index].key, right[index].key) else { return false }
                    guard left[index].value == right[index].value else { return false }
                }
                return true
            }
        }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension JSONObject: Sequence {
    public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
}
