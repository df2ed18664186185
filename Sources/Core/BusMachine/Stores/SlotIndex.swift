import Glibc

/// Open addressing: each slot holds the index of a record + 1, or 0. Their number is a
/// power of two. The owner frees it.
struct SlotIndex {
    let count: Int
    private let slots: UnsafeMutablePointer<Int32>

    init(count: Int) {
        self.count = count
        // The kernel provides zeroed pages when they are first accessed, and not all of them now.
        guard let memory = calloc(count, MemoryLayout<Int32>.stride) else {
            fatalError("There is no memory for an index of \(count) stores.")
        }
        slots = memory.bindMemory(to: Int32.self, capacity: count)
    }

    func deallocate() { free(slots) }

    @inline(__always)
    var mask: Int { count &- 1 }

    @inline(__always)
    subscript(slot: Int) -> Int32 { slots[slot] }

    /// Adds a record that is not there.
    func add(_ index: Int32, hash: Int) {
        var slot = hash & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = index + 1
    }

    /// Removes a record; false if it is not there.
    func remove(_ index: Int32, hash: Int, hashOf: (Int32) -> Int) -> Bool {
        var slot = hash & mask
        while slots[slot] != index + 1 {
            if slots[slot] == 0 { return false }
            slot = (slot + 1) & mask
        }
        closeGap(at: slot, hashOf: hashOf)
        return true
    }

    /// Empties a slot, and moves later entries of the same run up, so that look-ups still find them.
    func closeGap(at gap: Int, hashOf: (Int32) -> Int) {
        var gap = gap
        var slot = (gap + 1) & mask
        while slots[slot] != 0 {
            let wanted = hashOf(slots[slot] - 1) & mask
            if (slot &- wanted) & mask >= (slot &- gap) & mask {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot + 1) & mask
        }
        slots[gap] = 0
    }
}
