import BusJSON
import BusLogic

/// The stores of a type by the value of one member, each value's in the order of their names: so those that a `where` means,
/// which demands a value, are found without looking at the others.
final class MemberIndex: SourceReader {
    /// A value as `==` compares it: numbers by what they are, texts by their bytes.
    enum Key: Hashable {
        case text(ExactText)
        case integer(Int)
        case double(Double)
        case flag(Bool)

        /// The longest text that is indexed, in bytes.
        private static let longestText = 128

        /// Nil for what no index has: long texts, lists, maps and null.
        init?(_ value: JSON) {
            switch value {
            case .string(let text) where text.utf8.count <= Self.longestText: self = .text(ExactText(text))
            case .int(let number): self = .integer(number)
            case .double(let number): self = Int(exactly: number).map(Key.integer) ?? .double(number)
            case .bool(let flag): self = .flag(flag)
            default: return nil
            }
        }
    }

    fileprivate final class Bucket {
        @exclusivity(unchecked) var stores = OrderedPages<Int32>()
    }

    let entry: TypeEntry
    let member: String
    private let order: AddressOrder
    @exclusivity(unchecked) private var keys: [Int32: Key] = [:]
    @exclusivity(unchecked) private var buckets: [Key: Bucket] = [:]
    /// A `where` may ask for one of so many values at most: more are looked up one by one for each store that is found.
    private static let mostKeys = 16

    init(_ entry: TypeEntry, _ member: String, _ order: AddressOrder) {
        (self.entry, self.member, self.order) = (entry, member, order)
        super.init([entry.index])
    }

    var values: Int { buckets.count }
    var stores: Int { keys.count }

    // MARK: Sources

    override var bytes: Int { keys.count * BusLimits.indexedStore + buckets.count * BusLimits.indexedValue }
    override func bits(of member: String) -> UInt64 { UTF8Order.equal(member, self.member) ? 1 : 0 }

    override func update(_ store: Int32, _ state: UnsafePointer<JSONObject>, changed: UInt64) {
        let key = state.pointee[member].flatMap { Key($0) }
        if key == keys[store] { return }
        remove(store)
        guard let key else { return }
        keys[store] = key
        let bucket = buckets[key] ?? Bucket()
        buckets[key] = bucket
        _ = bucket.stores.insert(store, by: order.precedes)
    }

    override func remove(_ store: Int32) {
        guard let key = keys.removeValue(forKey: store), let bucket = buckets[key] else { return }
        _ = bucket.stores.remove(store, by: order.precedes)
        if bucket.stores.isEmpty { buckets[key] = nil }
    }

    // MARK: Search

    /// Where the stores are that may have one of a few values.
    struct Found {
        fileprivate let buckets: [Bucket]

        /// Calls with each from the first on for which `isBehind` holds, which does for all behind it, too, until false.
        func forEach(from isBehind: (Int32) -> Bool, _ order: AddressOrder, _ body: (Int32) -> Bool) {
            var next = first(isBehind, order)
            while let store = next, body(store) { next = first({ order.precedes(store, $0) }, order) }
        }

        private func first(_ isBehind: (Int32) -> Bool, _ order: AddressOrder) -> Int32? {
            var found: Int32?
            for bucket in buckets {
                guard let first = bucket.stores.first(where: isBehind) else { continue }
                if let other = found, order.precedes(other, first) { continue }
                found = first
            }
            return found
        }

        var count: Int { buckets.reduce(0) { $0 + $1.stores.count } }

        /// All of them, in no order.
        var all: [Int32] { buckets.flatMap { $0.stores.prefix(.max) } }
    }

    /// Nil where it can't say: it knows no such values, or would have to look for too many.
    func find(_ values: [JSON]) -> Found? {
        var keys: Set<Key> = []
        for value in values {
            guard let key = Key(value) else { return nil }
            keys.insert(key)
        }
        return keys.count <= Self.mostKeys ? Found(buckets: keys.compactMap { buckets[$0] }) : nil
    }

    /// Calls with each store that may be meant, from the first one that is not before a name, until false.
    func forEach(of found: Found, from name: String?, in stores: StoreTable, _ body: (Int32) -> Bool) {
        found.forEach(
            from: { store in
                guard let name else { return true }
                return !UTF8Order.precedes(stores.pointer(store).pointee.name, name)
            }, order, body)
    }
}

extension TypeEntry {
    /// Where those stores are that a filter may mean, as an index of the type says; nil where none can say.
    func lookUp(_ filter: StoreFilter?) -> (index: MemberIndex, found: MemberIndex.Found)? {
        guard let filter, !indexes.isEmpty else { return nil }
        for equality in filter.expression.equalities where !equality.isOfState || !mayHaveState {
            for index in indexes where UTF8Order.equal(index.member, equality.member) {
                if let found = index.find(equality.values) { return (index, found) }
            }
        }
        return nil
    }
}
