/// The keys of recent commits, so that a repeated request is recognised and answered as before.
///
/// Every keyed commit adds one and, once the table is full, removes the oldest, so each of them pays for it: hence a ring in
/// the order of commits, in which a key stands beside its hash and its reply, and an index of places in it with open
/// addressing, which holds enough of each hash that it need not look into the ring to pass over another key.
package struct DeduplicationTable: ~Copyable {
    /// A key and whose it is. The bytes are those of a line or a record, valid as long as that is.
    package struct ID {
        package let identity: Int32
        package let key: UnsafeRawBufferPointer

        package init(identity: Int32, key: UnsafeRawBufferPointer) {
            self.identity = identity
            self.key = key
        }
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
    /// The upper half of a hash, and its place in the ring + 1; or 0. A power of two, at most half full.
    private var slots: UnsafeMutableBufferPointer<UInt64>
    private let seed: UInt64

    /// Keyed commits up to this revision may have been forgotten.
    package var forgottenThrough = 0

    /// A client that does not know the seed can't choose keys whose hashes collide.
    init(seed: UInt64) {
        self.seed = seed | 1
        slots = .allocate(capacity: 256)
        slots.initialize(repeating: 0)
    }

    deinit {
        for place in 0..<count { at(place).pointee.elsewhere?.deallocate() }
        ring.deallocate()
        slots.deallocate()
    }

    package subscript(id: ID) -> Entry? {
        let hash = hash(id)
        return slot(of: id, hash).map { at(Self.place(slots[$0])).pointee.entry }
    }

    package mutating func remember(_ entry: Entry, as id: ID) {
        let hash = hash(id)
        if let slot = slot(of: id, hash) {
            at(Self.place(slots[slot])).pointee.entry = entry
            return
        }
        if count < BusLimits.rememberedKeys {
            if count == capacity { growRing() }
            if (count + 1) * 2 > slots.count { growIndex() }
            put(entry, id, hash, at: count)
            enter(hash, count)
            count += 1
            return
        }
        forgottenThrough = at(oldest).pointee.entry.revision
        leave(oldest)
        at(oldest).pointee.elsewhere?.deallocate()
        put(entry, id, hash, at: oldest)
        enter(hash, oldest)
        oldest = oldest + 1 == count ? 0 : oldest + 1
    }

    /// Visits all entries, oldest first.
    package func forEach(_ body: (ID, Entry) -> Void) {
        for offset in 0..<count {
            let place = (oldest + offset) % count
            body(ID(identity: at(place).pointee.identity, key: key(at: place)), at(place).pointee.entry)
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

    private func put(_ entry: Entry, _ id: ID, _ hash: UInt64, at place: Int) {
        let length = id.key.count
        let elsewhere: UnsafeMutableRawPointer? =
            length > Self.room ? .allocate(byteCount: length, alignment: 1) : nil
        at(place).initialize(
            to: Place(
                hash: hash, entry: entry, identity: id.identity, length: Int32(length), elsewhere: elsewhere))
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

    @inline(__always)
    private static func place(_ slot: UInt64) -> Int { Int(truncatingIfNeeded: slot & 0xffff_ffff) &- 1 }

    /// Where a key whose hash has this upper half would stand, if all slots were free.
    @inline(__always)
    private func home(_ slot: UInt64) -> Int { Int(truncatingIfNeeded: slot >> 32) & (slots.count &- 1) }

    private func slot(of id: ID, _ hash: UInt64) -> Int? {
        let mask = slots.count &- 1
        var slot = home(hash)
        while slots[slot] != 0 {
            if slots[slot] >> 32 == hash >> 32 {
                let place = Self.place(slots[slot])
                if at(place).pointee.hash == hash, at(place).pointee.identity == id.identity,
                    key(at: place).elementsEqual(id.key)
                {
                    return slot
                }
            }
            slot = (slot &+ 1) & mask
        }
        return nil
    }

    private func enter(_ hash: UInt64, _ place: Int) {
        let mask = slots.count &- 1
        var slot = home(hash)
        while slots[slot] != 0 { slot = (slot &+ 1) & mask }
        slots[slot] = hash & 0xffff_ffff_0000_0000 | UInt64(place &+ 1)
    }

    /// Removes a place from the index, and moves later ones of the same run up, so that they are still found.
    private func leave(_ place: Int) {
        let mask = slots.count &- 1
        var gap = home(at(place).pointee.hash)
        while Self.place(slots[gap]) != place { gap = (gap &+ 1) & mask }
        var slot = (gap &+ 1) & mask
        while slots[slot] != 0 {
            if (slot &- home(slots[slot])) & mask >= (slot &- gap) & mask {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot &+ 1) & mask
        }
        slots[gap] = 0
    }

    private mutating func growIndex() {
        let size = slots.count * 2
        slots.deallocate()
        slots = .allocate(capacity: size)
        slots.initialize(repeating: 0)
        for place in 0..<count { enter(at(place).pointee.hash, place) }
    }

    @inline(__always)
    private func hash(_ id: ID) -> UInt64 {
        Self.hash(id.key, seed ^ UInt64(truncatingIfNeeded: id.identity))
    }

    /// Two independent 64-bit hashes of the request's meaning. Logs and snapshots hold them, so they remain as they are.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        Digest(first: hash(bytes, 0x9e37_79b9_7f4a_7c15), second: hash(bytes, 0xd6e8_feb8_6659_fd93))
    }

    /// Multiplicative, eight bytes at a time.
    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        let factor = seed ^ 0xa076_1d64_78bd_642f | 1
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
