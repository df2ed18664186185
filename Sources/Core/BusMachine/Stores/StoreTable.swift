import BusJSON
internal import CScan
import Glibc

/// All stores: records in slabs that never move, and an index from addresses to them.
public final class StoreTable {
    @usableFromInline static let slabSize = 1024

    /// Behind a constant pointer, so that no access from other modules is checked at run time.
    @usableFromInline let slabPlace: UnsafeMutablePointer<[UnsafeMutablePointer<StoreRecord>]>
    private var slabs: [UnsafeMutablePointer<StoreRecord>] {
        unsafeAddress { UnsafePointer(slabPlace) }
        unsafeMutableAddress { slabPlace }
    }
    /// How many stores are in each slab.
    @exclusivity(unchecked) private var residents: [Int] = []
    @exclusivity(unchecked) private var free: [Int32] = []
    @exclusivity(unchecked) private var used = 0
    @exclusivity(unchecked) public private(set) var count = 0
    /// How many each identity has created, by its number.
    @exclusivity(unchecked) private(set) var countByCreator: [Int32: Int] = [:]

    /// From addresses to records. While it grows, entries not moved yet are still in the index before.
    @exclusivity(unchecked) private var index = SlotIndex(count: 64)
    @exclusivity(unchecked) private var before: SlotIndex?
    /// How many slots of it have been moved.
    @exclusivity(unchecked) private var moved = 0
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed | 1
        slabPlace = .allocate(capacity: 1)
        slabPlace.initialize(to: [])
    }

    deinit {
        for index in 0..<Int32(used) where isThere(index) { pointer(index).deinitialize(count: 1) }
        for slab in slabs { UnsafeMutableRawPointer(slab).deallocate() }
        index.deallocate()
        before?.deallocate()
        slabPlace.deinitialize(count: 1)
        slabPlace.deallocate()
    }

    /// The record with an index; it stays in its place for life.
    @inlinable @inline(__always)
    public func pointer(_ index: Int32) -> UnsafeMutablePointer<StoreRecord> {
        // Of numbers that are not negative, slab and place are a shift and a mask.
        let place = Int(UInt32(bitPattern: index))
        return slabPlace.pointee[place / Self.slabSize] + place % Self.slabSize
    }

    /// A store will be changed soon: its state, and its neighbours in the order of change, are fetched meanwhile.
    @inline(__always)
    func prepare(_ index: Int32) {
        let record = pointer(index)
        let state = UnsafeRawPointer(record.pointer(to: \.state)!).load(as: UnsafeRawPointer.self)
        scan_prefetch(state)
        scan_prefetch(state + 64)
        let (older, newer) = (record.pointee.older, record.pointee.newer)
        if older >= 0 { scan_prefetch(pointer(older).pointer(to: \.newer)!) }
        if newer >= 0 { scan_prefetch(pointer(newer).pointer(to: \.older)!) }
    }

    /// The store with a type and name; nil when there is none.
    @inline(__always)
    public func find(type: Int32, name: UnsafeRawBufferPointer) -> Int32? {
        guard SmallText.isKnown, name.count <= SmallText.longest else { return find(type: type, long: name) }
        let small = SmallText(ascii: name)
        let hash = hash(type, small)
        if let found = find(hash, type, small, in: index) { return found }
        guard let before else { return nil }
        return find(hash, type, small, in: before)
    }

    /// Most names are two words, and so are compared as those.
    @inline(__always)
    private func find(_ hash: Int, _ type: Int32, _ name: SmallText, in slots: SlotIndex) -> Int32? {
        var slot = hash & slots.mask
        while slots[slot] != 0 {
            let index = slots[slot] &- 1
            let record = pointer(index)
            if record.pointee.type == type, SmallText(record.pointee.name) == name { return index }
            slot = (slot &+ 1) & slots.mask
        }
        return nil
    }

    @inline(never)
    private func find(type: Int32, long name: UnsafeRawBufferPointer) -> Int32? {
        let hash = hash(type, name)
        if let found = find(hash, type, name, in: index) { return found }
        guard let before else { return nil }
        return find(hash, type, name, in: before)
    }

    private func find(
        _ hash: Int, _ type: Int32, _ name: UnsafeRawBufferPointer, in slots: SlotIndex
    ) -> Int32? {
        var slot = hash & slots.mask
        while slots[slot] != 0 {
            let index = slots[slot] - 1
            let record = pointer(index)
            if record.pointee.type == type, record.pointee.name.hasBytes(name) { return index }
            slot = (slot + 1) & slots.mask
        }
        return nil
    }

    /// Adds a store whose address is free and returns its index. Its sequence is at least 1; 0 marks a free record.
    func insert(_ record: StoreRecord) -> Int32 {
        if (count + 1) * 4 > self.index.count * 3 { grow() }
        move(Self.movedAtOnce)
        let index: Int32
        if let reused = free.popLast() {
            index = reused
        } else {
            index = Int32(used)
            if used == slabs.count * Self.slabSize { addSlab() }
            used += 1
        }
        pointer(index).initialize(to: record)
        residents[Int(index) / Self.slabSize] += 1
        reveal(index)
        return index
    }

    /// Takes away the address of a store: it is not found by it any more, nor counted, and keeps its record.
    func hide(_ index: Int32) {
        let hash = hash(of: index)
        if !self.index.remove(index, hash: hash, hashOf: self.hash(of:)) {
            let isRemoved = before?.remove(index, hash: hash, hashOf: self.hash(of:))
            precondition(isRemoved == true, "A store that is removed stands in the index.")
        }
        countByCreator[pointer(index).pointee.creator]! -= 1
        count -= 1
    }

    /// Gives a hidden store its address back, which is free.
    func reveal(_ index: Int32) {
        self.index.add(index, hash: hash(of: index))
        countByCreator[pointer(index).pointee.creator, default: 0] += 1
        count += 1
    }

    /// Removes the record of a hidden store.
    func free(_ index: Int32) {
        let record = pointer(index)
        // A caller that kept the index sees that the store is gone.
        record.pointee.sequence = 0
        record.deinitialize(count: 1)
        residents[Int(index) / Self.slabSize] -= 1
        free.append(index)
    }

    /// Whether there is a store with an index that was kept for a while.
    @inlinable @inline(__always)
    public func isThere(_ index: Int32) -> Bool { pointer(index).pointee.sequence > 0 }

    // MARK: Slabs

    /// In whole pages, because memory is returned by the page.
    private static let pageSize = 4096
    private static var slabBytes: Int {
        (slabSize * MemoryLayout<StoreRecord>.stride + pageSize - 1) / pageSize * pageSize
    }

    private func addSlab() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.slabBytes, alignment: Self.pageSize)
        slabs.append(memory.bindMemory(to: StoreRecord.self, capacity: Self.slabSize))
        residents.append(0)
    }

    /// Returns the memory of slabs without stores to the kernel. They stay where they are and read as
    /// zeros, which is a free record.
    func giveBackMemory() {
        for slab in slabs.indices where residents[slab] == 0 {
            madvise(slabs[slab], Self.slabBytes, MADV_DONTNEED)
        }
    }

    // MARK: Growth of the index

    /// Entries that are moved with every store that is added: more than one, so that it ends before
    /// the index has to grow again.
    private static let movedAtOnce = 8

    /// A larger index replaces this one, whose entries are moved step by step: all at once would take a twentieth of a
    /// second for a million stores.
    private func grow() {
        move(.max)
        before = index
        moved = 0
        index = SlotIndex(count: 2 * index.count)
    }

    /// Moves the entries of this many slots of the index before.
    private func move(_ slots: Int) {
        guard let old = before else { return }
        let end = slots < old.count - moved ? moved + slots : old.count
        while moved < end {
            while old[moved] != 0 {
                let entry = old[moved] - 1
                old.closeGap(at: moved, hashOf: hash(of:))
                index.add(entry, hash: hash(of: entry))
            }
            moved += 1
        }
        guard moved == old.count else { return }
        old.deallocate()
        before = nil
    }

    private func hash(of index: Int32) -> Int {
        let name = pointer(index).pointee.name
        let type = pointer(index).pointee.type
        if let small = SmallText(name) { return hash(type, small) }
        return name.utf8Span.span.withUnsafeBytes { hash(type, $0) }
    }

    /// A seeded multiplicative hash: a client that does not know the seed can't make collisions.
    private func hash(_ type: Int32, _ name: UnsafeRawBufferPointer) -> Int {
        var state = seed ^ UInt64(truncatingIfNeeded: type) &* 0x9e37_79b9_7f4a_7c15
        var place = 0
        while place &+ 8 <= name.count {
            state = mix(state ^ name.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place &+= 8
        }
        // A name has at most 128 bytes, so its length stands above a tail of seven.
        let tail = ByteHash.tail(of: name, from: place) | UInt64(truncatingIfNeeded: name.count) &<< 56
        return Int(truncatingIfNeeded: mix(state ^ tail))
    }

    @inline(__always)
    private func hash(_ type: Int32, _ name: SmallText) -> Int {
        let state = seed ^ UInt64(truncatingIfNeeded: type) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mix(mix(state ^ name.low) ^ name.high))
    }

    @inline(__always)
    private func mix(_ value: UInt64) -> UInt64 { ByteHash.mix(value, seed ^ 0xa076_1d64_78bd_642f) }
}
