import BusJSON

/// All stores: records in slabs that never move, and an index from addresses to them.
final class StoreTable {
    private static let slabSize = 1024

    @exclusivity(unchecked) private var slabs: [UnsafeMutablePointer<StoreRecord>] = []
    @exclusivity(unchecked) private var free: [Int32] = []
    @exclusivity(unchecked) private var used = 0
    @exclusivity(unchecked) private(set) var count = 0

    /// Open addressing; each slot holds a record's index + 1, or 0. A power of two, at most 3/4 full.
    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Int32>
    @exclusivity(unchecked) private var slotCount = 64
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed | 1
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
    }

    deinit {
        for index in 0..<used where !free.contains(Int32(index)) {
            pointer(Int32(index)).deinitialize(count: 1)
        }
        for slab in slabs { slab.deallocate() }
        slots.deallocate()
    }

    /// The record with an index; it stays in its place for life.
    @inline(__always)
    func pointer(_ index: Int32) -> UnsafeMutablePointer<StoreRecord> {
        let place = Int(truncatingIfNeeded: index)
        return slabs[place / Self.slabSize] + place % Self.slabSize
    }

    /// The store with a type and name; nil when there is none.
    func find(type: Int32, name: UnsafeRawBufferPointer) -> Int32? {
        var slot = Int(truncatingIfNeeded: hash(type, name)) & (slotCount - 1)
        while slots[slot] != 0 {
            let index = slots[slot] - 1
            let record = pointer(index)
            if record.pointee.type == type, record.pointee.name.hasBytes(name) { return index }
            slot = (slot + 1) & (slotCount - 1)
        }
        return nil
    }

    /// Adds a store whose address is not taken and gives its index.
    func insert(_ record: StoreRecord) -> Int32 {
        if (count + 1) * 4 > slotCount * 3 { growIndex() }
        let index: Int32
        if let reused = free.popLast() {
            index = reused
        } else {
            index = Int32(used)
            if used == slabs.count * Self.slabSize { slabs.append(.allocate(capacity: Self.slabSize)) }
            used += 1
        }
        pointer(index).initialize(to: record)
        count += 1
        place(index)
        return index
    }

    /// Removes a store.
    func remove(_ index: Int32) {
        let record = pointer(index)
        var slot = home(index)
        while slots[slot] != index + 1 { slot = (slot + 1) & (slotCount - 1) }
        closeGap(at: slot)
        // Whoever has noted the index sees that nobody is there.
        record.pointee.sequence = -1
        record.deinitialize(count: 1)
        free.append(index)
        count -= 1
    }

    /// Moves later entries of the same run up, so that look-ups still find them.
    private func closeGap(at gap: Int) {
        var gap = gap
        var slot = (gap + 1) & (slotCount - 1)
        while slots[slot] != 0 {
            let wanted = home(slots[slot] - 1)
            if (slot &- wanted) & (slotCount - 1) >= (slot &- gap) & (slotCount - 1) {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot + 1) & (slotCount - 1)
        }
        slots[gap] = 0
    }

    private func home(_ index: Int32) -> Int {
        let name = pointer(index).pointee.name
        let type = pointer(index).pointee.type
        return name.utf8Span.span.withUnsafeBytes {
            Int(truncatingIfNeeded: hash(type, $0)) & (slotCount - 1)
        }
    }

    private func place(_ index: Int32) {
        var slot = home(index)
        while slots[slot] != 0 { slot = (slot + 1) & (slotCount - 1) }
        slots[slot] = index + 1
    }

    private func growIndex() {
        let old = UnsafeMutableBufferPointer(start: slots, count: slotCount)
        slotCount *= 2
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
        for entry in old where entry != 0 { place(entry - 1) }
        old.deallocate()
    }

    /// A seeded multiplicative hash, eight bytes at a time: who does not know the seed can't make collisions.
    private func hash(_ type: Int32, _ name: UnsafeRawBufferPointer) -> UInt64 {
        var state = seed ^ UInt64(truncatingIfNeeded: type) &* 0x9e37_79b9_7f4a_7c15
        var place = 0
        while place + 8 <= name.count {
            state = mix(state ^ name.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var tail = UInt64(name.count) << 56
        for offset in place..<name.count { tail |= UInt64(name[offset]) << UInt64(8 * (offset - place)) }
        return mix(state ^ tail)
    }

    @inline(__always)
    private func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: seed ^ 0xa076_1d64_78bd_642f)
        return product.high ^ product.low
    }
}
