import BusProtocol

/// The keys of recent commits, so that a repeated request is recognised and answered as before.
///
/// Every keyed commit adds one and, once the table is full, removes the oldest, so each of them pays for it: hence a
/// ring in the order of commits, and an index of places in it by hash, with open addressing.
package struct DeduplicationTable {
    package struct ID {
        package let identity: Int32
        package let key: [UInt8]
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

    private struct Place {
        let hash: UInt64
        let id: ID
        var entry: Entry
    }

    /// In the order of commits, from `oldest` on; a ring once it is full.
    private var ring: ContiguousArray<Place> = []
    private var oldest = 0
    /// Places in the ring + 1, or 0; a power of two, at most half full.
    private var slots: [UInt32] = Array(repeating: 0, count: 256)
    private let seed: UInt64

    /// Keyed commits up to this revision may have been forgotten.
    package var forgottenThrough = 0

    /// A client that does not know the seed can't choose keys whose hashes collide.
    init(seed: UInt64) { self.seed = seed | 1 }

    package var count: Int { ring.count }

    package subscript(id: ID) -> Entry? { slot(of: id, hash(id)).map { ring[Int(slots[$0]) - 1].entry } }

    package mutating func remember(_ entry: Entry, as id: ID) {
        let hash = hash(id)
        if let slot = slot(of: id, hash) {
            ring[Int(slots[slot]) - 1].entry = entry
            return
        }
        let place = Place(hash: hash, id: id, entry: entry)
        if ring.count < BusLimits.rememberedKeys {
            if (ring.count + 1) * 2 > slots.count { growIndex() }
            ring.append(place)
            enter(hash, UInt32(ring.count))
            return
        }
        forgottenThrough = ring[oldest].entry.revision
        leave(oldest)
        ring[oldest] = place
        enter(hash, UInt32(oldest + 1))
        oldest = oldest + 1 == ring.count ? 0 : oldest + 1
    }

    /// Visits all entries, oldest first.
    package func forEach(_ body: (ID, Entry) -> Void) {
        for offset in 0..<ring.count {
            let place = ring[(oldest + offset) % ring.count]
            body(place.id, place.entry)
        }
    }

    // MARK: - The index

    private func slot(of id: ID, _ hash: UInt64) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if ring[index].hash == hash, ring[index].id.identity == id.identity, ring[index].id.key == id.key
            {
                return slot
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func enter(_ hash: UInt64, _ place: UInt32) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = place
    }

    /// Removes a place from the index, and moves later ones of the same run up, so that they are still found.
    private mutating func leave(_ place: Int) {
        let mask = slots.count - 1
        var gap = Int(truncatingIfNeeded: ring[place].hash) & mask
        while slots[gap] != UInt32(place + 1) { gap = (gap + 1) & mask }
        var slot = (gap + 1) & mask
        while slots[slot] != 0 {
            let home = Int(truncatingIfNeeded: ring[Int(slots[slot]) - 1].hash) & mask
            if (slot &- home) & mask >= (slot &- gap) & mask {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot + 1) & mask
        }
        slots[gap] = 0
    }

    private mutating func growIndex() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for index in ring.indices { enter(ring[index].hash, UInt32(index + 1)) }
    }

    private func hash(_ id: ID) -> UInt64 {
        id.key.withUnsafeBytes { Self.hash($0, seed ^ UInt64(truncatingIfNeeded: id.identity)) }
    }

    /// Two independent 64-bit hashes of the request's meaning.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        Digest(first: hash(bytes, 0x9e37_79b9_7f4a_7c15), second: hash(bytes, 0xd6e8_feb8_6659_fd93))
    }

    /// Multiplicative, eight bytes at a time.
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        var state = seed
        var place = 0
        while place + 8 <= bytes.count {
            state = mix(state ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), seed)
            place += 8
        }
        var tail: UInt64 = 0
        for offset in place..<bytes.count { tail |= UInt64(bytes[offset]) << UInt64(8 * (offset - place)) }
        return mix(mix(state ^ tail, seed) ^ UInt64(bytes.count), seed)
    }

    @inline(__always)
    private static func mix(_ value: UInt64, _ seed: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: seed ^ 0xa076_1d64_78bd_642f | 1)
        return product.high ^ product.low
    }
}
