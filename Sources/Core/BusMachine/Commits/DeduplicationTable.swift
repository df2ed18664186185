import BusJSON
import BusProtocol
internal import CScan

/// The keys of recent commits, so that a repeated request is recognised and answered as before.
///
/// Every keyed commit adds one and, once the table is full, removes the oldest, so each of them pays for it: hence a ring in
/// the order of commits, in which a key stands beside its hash and its reply, and an index of places in it.
///
/// The index consists of buckets of one cache line each. An entry holds so much of its key's hash that others are passed over
/// without a look into the ring, so that a key takes one line of the index, and the oldest that goes for it another.
package struct DeduplicationTable: ~Copyable {
    /// A key and whose it is. The bytes are those of a line or a record, valid as long as that is.
    package struct ID {
        package let identity: Int32
        package let key: UnsafeRawBufferPointer
        fileprivate let hash: UInt64
    }

    /// What is remembered of a keyed commit.
    package struct Entry {
        /// Distinguishes another request with the same key.
        package let digest: Digest
        package let revision: Int
        package let matched: Int
        package let changed: Int

        package init(digest: Digest, revision: Int, matched: Int, changed: Int) {
            self.digest = digest
            self.revision = revision
            self.matched = matched
            self.changed = changed
        }
    }

    package struct Digest: Equatable {
        package let first: UInt64
        package let second: UInt64
    }

    /// What stands at a place of the ring: two cache lines, with the key behind the rest. One that has no room there is
    /// somewhere else.
    private struct Place {
        let hash: UInt64
        var entry: Entry
        let identity: Int32
        let length: Int32
        /// Where a longer key is.
        let elsewhere: UnsafeMutableRawPointer?
    }

    private static let placeBytes = 128
    private static var keyOffset: Int { MemoryLayout<Place>.stride }
    private static var room: Int { placeBytes - keyOffset }

    /// In the order of commits, from `oldest` on; a ring once it is full.
    private var ring = UnsafeMutableRawPointer.allocate(byteCount: 0, alignment: placeBytes)
    private var capacity = 0
    package private(set) var count = 0
    private var oldest = 0
    /// Buckets one after the other, as many as a power of two, at most two fifths full. An entry is the highest bits of a hash
    /// and the place in the ring; those of a bucket stand at its beginning, and how many they are at its end.
    private var index: UnsafeMutableRawPointer
    private var buckets: Int
    let seed: UInt64

    /// What keyed commits returned, by their revisions.
    private var results = KeptResults()

    /// Keyed commits up to this revision may have been forgotten.
    package var forgottenThrough = 0

    /// A client that does not know the seed can't choose keys whose hashes collide.
    init(seed: UInt64) {
        self.seed = seed | 1
        buckets = 16
        index = Self.emptyIndex(buckets)
    }

    deinit {
        for place in 0..<count { at(place).pointee.elsewhere?.deallocate() }
        ring.deallocate()
        index.deallocate()
    }

    /// A key of somebody's, to look for.
    @inline(__always)
    package func id(_ identity: Int32, _ key: UnsafeRawBufferPointer) -> ID {
        ID(identity: identity, key: key, hash: Self.hash(key, seed ^ UInt64(truncatingIfNeeded: identity)))
    }

    package subscript(id: ID) -> Entry? { place(of: id).map { at($0).pointee.entry } }

    package mutating func remember(_ entry: Entry, as id: ID) {
        if let place = place(of: id) {
            results.forget(at(place).pointee.entry.revision)
            at(place).pointee.entry = entry
        } else {
            add(entry, as: id)
        }
    }

    /// Remembers a key that was looked for and is not there.
    package mutating func add(_ entry: Entry, as id: ID) {
        assert(place(of: id) == nil, "The key is remembered already.")
        if count < BusLimits.rememberedKeys {
            if count == capacity { growRing() }
            if (count + 1) * 5 > buckets * Self.entries * 2 { growIndex() }
            put(entry, id, at: count)
            enter(id.hash, count)
            count += 1
            return
        }
        forgottenThrough = at(oldest).pointee.entry.revision
        results.forget(forgottenThrough)
        leave(oldest)
        at(oldest).pointee.elsewhere?.deallocate()
        put(entry, id, at: oldest)
        enter(id.hash, oldest)
        oldest = oldest + 1 == count ? 0 : oldest + 1
    }

    /// Keeps what the keyed commit of a revision, the last one, returned.
    package mutating func keep(_ results: JSONObject, of revision: Int) {
        self.results.keep(results, of: revision)
    }

    /// What the keyed commit of a revision returned; nil if nothing, or if it is no longer known.
    package func returned(of revision: Int) -> JSONObject? { results[revision] }

    /// Visits all entries, oldest first.
    package func forEach(_ body: (ID, Entry) -> Void) {
        for offset in 0..<count {
            let place = (oldest + offset) % count
            let id = ID(
                identity: at(place).pointee.identity, key: key(at: place), hash: at(place).pointee.hash)
            body(id, at(place).pointee.entry)
        }
    }

    // MARK: The ring

    @inline(__always)
    private func at(_ place: Int) -> UnsafeMutablePointer<Place> {
        (ring + place &* Self.placeBytes).assumingMemoryBound(to: Place.self)
    }

    @inline(__always)
    private func key(at place: Int) -> UnsafeRawBufferPointer {
        let start = at(place).pointee.elsewhere ?? ring + place &* Self.placeBytes + Self.keyOffset
        return UnsafeRawBufferPointer(start: start, count: Int(at(place).pointee.length))
    }

    private func put(_ entry: Entry, _ id: ID, at place: Int) {
        let length = id.key.count
        let elsewhere: UnsafeMutableRawPointer? =
            length > Self.room ? .allocate(byteCount: length, alignment: 1) : nil
        at(place).initialize(
            to: Place(
                hash: id.hash, entry: entry, identity: id.identity, length: Int32(length),
                elsewhere: elsewhere))
        guard let bytes = id.key.baseAddress else { return }
        (elsewhere ?? ring + place &* Self.placeBytes + Self.keyOffset).copyMemory(
            from: bytes, byteCount: length)
    }

    private mutating func growRing() {
        let larger = min(max(64, 2 * capacity), BusLimits.rememberedKeys)
        let grown = UnsafeMutableRawPointer.allocate(
            byteCount: larger * Self.placeBytes, alignment: Self.placeBytes)
        grown.copyMemory(from: ring, byteCount: count * Self.placeBytes)
        ring.deallocate()
        (ring, capacity) = (grown, larger)
    }

    // MARK: The index

    /// As many entries as fill a cache line together with their count.
    private static let entries = 15
    private static let lineWords = 16
    /// Bits of an entry for the place; the others are of the hash.
    private static let placeBits: UInt32 = 17
    private static let placeMask: UInt32 = 1 << placeBits &- 1

    private static func emptyIndex(_ buckets: Int) -> UnsafeMutableRawPointer {
        let words = buckets * lineWords
        let index = UnsafeMutableRawPointer.allocate(
            byteCount: words * MemoryLayout<UInt32>.stride, alignment: 64)
        index.initializeMemory(as: UInt32.self, repeating: 0, count: words)
        return index
    }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (buckets &- 1) }

    @inline(__always)
    private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 49) }

    @inline(__always)
    private func bucket(_ number: Int) -> UnsafeMutablePointer<UInt32> {
        index.assumingMemoryBound(to: UInt32.self) + number &* Self.lineWords
    }

    @inline(__always)
    private static func used(_ bucket: UnsafeMutablePointer<UInt32>) -> Int {
        Int(truncatingIfNeeded: bucket[entries])
    }

    private func place(of id: ID) -> Int? {
        let tag = Self.tag(id.hash)
        var number = home(id.hash)
        while true {
            let bucket = bucket(number)
            let used = Self.used(bucket)
            for slot in 0..<used where bucket[slot] >> Self.placeBits == tag {
                let place = Int(bucket[slot] & Self.placeMask)
                if at(place).pointee.hash == id.hash, at(place).pointee.identity == id.identity,
                    key(at: place).elementsEqual(id.key)
                {
                    return place
                }
            }
            // Keys for which a bucket has no room are in the next one.
            if used < Self.entries { return nil }
            number = (number &+ 1) & (buckets &- 1)
        }
    }

    private func enter(_ hash: UInt64, _ place: Int) {
        var number = home(hash)
        while Self.used(bucket(number)) == Self.entries { number = (number &+ 1) & (buckets &- 1) }
        let bucket = bucket(number)
        bucket[Self.used(bucket)] = Self.tag(hash) << Self.placeBits | UInt32(truncatingIfNeeded: place)
        bucket[Self.entries] &+= 1
    }

    /// Removes a place from the index.
    private func leave(_ place: Int) {
        let hash = at(place).pointee.hash
        let entry = Self.tag(hash) << Self.placeBits | UInt32(truncatingIfNeeded: place)
        var number = home(hash)
        while true {
            let bucket = bucket(number)
            for slot in 0..<Self.used(bucket) where bucket[slot] == entry { return remove(slot, of: number) }
            number = (number &+ 1) & (buckets &- 1)
        }
    }

    @inline(__always)
    private func remove(_ slot: Int, of number: Int) {
        let bucket = bucket(number)
        let last = Self.used(bucket) &- 1
        bucket[slot] = bucket[last]
        bucket[Self.entries] = UInt32(truncatingIfNeeded: last)
        if last == Self.entries &- 1 { fill(number) }
    }

    /// A bucket that was full has room again: a key that went to a later one for that comes back, as it would not be looked
    /// for there.
    @inline(never)
    private func fill(_ number: Int) {
        var later = number
        repeat {
            later = (later &+ 1) & (buckets &- 1)
            let bucket = bucket(later)
            for slot in 0..<Self.used(bucket) {
                let home = home(at(Int(bucket[slot] & Self.placeMask)).pointee.hash)
                // It passed the bucket on its way from its home to here.
                guard (later &- home) & (buckets &- 1) >= (later &- number) & (buckets &- 1) else { continue }
                self.bucket(number)[Self.entries &- 1] = bucket[slot]
                self.bucket(number)[Self.entries] = UInt32(Self.entries)
                return remove(slot, of: later)
            }
        } while Self.used(bucket(later)) == Self.entries
    }

    /// A key will be looked for soon, and remembered: what that takes is fetched meanwhile.
    @inline(__always)
    package func prepare(for id: ID) {
        scan_prefetch(bucket(home(id.hash)))
        guard count == BusLimits.rememberedKeys else { return }
        scan_prefetch(bucket(home(at(oldest).pointee.hash)))
        let next = oldest &+ 1 == count ? 0 : oldest &+ 1
        scan_prefetch(at(next))
        scan_prefetch(UnsafeRawPointer(at(next)) + 64)
    }

    private mutating func growIndex() {
        index.deallocate()
        buckets *= 2
        index = Self.emptyIndex(buckets)
        for place in 0..<count { enter(at(place).pointee.hash, place) }
    }

    private static let (seedA, seedB): (UInt64, UInt64) = (0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93)

    /// Two independent 64-bit hashes of the request's meaning. Logs and snapshots hold them, so they remain as they are.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        digest(of: bytes, after: .init(first: seedA, second: seedB, tail: 0, count: 0))
    }

    /// A digest whose beginning was computed before; the bytes begin with the tail of that beginning.
    package static func digest(
        of bytes: UnsafeRawBufferPointer, after head: ResolvedDispatch.DigestHead
    ) -> Digest {
        var (first, second) = (head.first, head.second)
        let tail = mixWords(of: bytes, into: &first, &second)
        let count = UInt64(truncatingIfNeeded: head.count & ~7 &+ bytes.count)
        let (factorA, factorB) = (factor(seedA), factor(seedB))
        return Digest(
            first: ByteHash.mix(ByteHash.mix(first ^ tail, factorA) ^ count, factorA),
            second: ByteHash.mix(ByteHash.mix(second ^ tail, factorB) ^ count, factorB))
    }

    /// The beginning of what is digested.
    package static func digestHead(of bytes: UnsafeRawBufferPointer) -> ResolvedDispatch.DigestHead {
        var (first, second) = (seedA, seedB)
        let tail = mixWords(of: bytes, into: &first, &second)
        return ResolvedDispatch.DigestHead(first: first, second: second, tail: tail, count: bytes.count)
    }

    /// Gives what stands behind the last whole word.
    @inline(__always)
    private static func mixWords(
        of bytes: UnsafeRawBufferPointer, into first: inout UInt64, _ second: inout UInt64
    ) -> UInt64 {
        // Side by side, as neither waits for the other.
        let (factorA, factorB) = (factor(seedA), factor(seedB))
        var place = 0
        while place &+ 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            first = ByteHash.mix(first ^ word, factorA)
            second = ByteHash.mix(second ^ word, factorB)
            place &+= 8
        }
        return ByteHash.tail(of: bytes, from: place)
    }

    @inline(__always)
    private static func factor(_ seed: UInt64) -> UInt64 { seed ^ 0xa076_1d64_78bd_642f | 1 }

    /// Multiplicative, eight bytes at a time.
    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        let factor = factor(seed)
        var state = seed
        var place = 0
        while place &+ 8 <= bytes.count {
            state = ByteHash.mix(state ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), factor)
            place &+= 8
        }
        state = ByteHash.mix(state ^ ByteHash.tail(of: bytes, from: place), factor)
        return ByteHash.mix(state ^ UInt64(truncatingIfNeeded: bytes.count), factor)
    }
}
