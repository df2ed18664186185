import BusSystem
import CLinux
import CMap
import Glibc

/// Why there is no room for a state in a map.
package enum MapRefusal: Error, Equatable {
    /// A map with more room is needed: the caller makes one, with all states, and closes this one as moved.
    case full
    /// The state is longer than `MapLimits.state`.
    case long
}

/// How much a map has room for: what it begins with, and as much again.
package struct MapRoom: Equatable {
    package private(set) var stores = MapRoom.leastStores
    package private(set) var blocks = MapRoom.leastStores * 3

    /// Types that have few stores get maps for this many: most never need another one.
    private static let leastStores = 1024

    /// - Parameter contents: How long the name and the state of each store are, in bytes.
    package init(for contents: some Sequence<(name: Int, state: Int)>) {
        var (count, blocks) = (0, 0)
        for (name, state) in contents {
            count += 1
            // One place is read while the other is written.
            blocks += 1 << Extent.size(of: name) + 2 << Extent.size(of: state)
        }
        stores = max(stores, 2 * count)
        self.blocks = max(self.blocks, 2 * blocks)
    }

    /// The size of such a map.
    package var bytes: Int { MapPlan(stores: stores, blocks: blocks).size }
}

/// Where the parts of a map begin, in bytes.
private struct MapPlan {
    let buckets: Int
    let slots: Int
    let blocks: Int
    let size: Int

    init(stores: Int, blocks count: Int) {
        var buckets = 2
        while buckets < stores * 2 { buckets *= 2 }
        let block = Int(fluxbus_map_block)
        self.buckets = buckets
        slots = block + (buckets * MemoryLayout<UInt64>.size + block - 1) / block * block
        blocks = slots + stores * MemoryLayout<fluxbus_map_slot>.stride
        size = blocks + count * block
    }
}

/// Blocks in a row: 2 to the power of `size` of them. Of size -1 there are none.
private struct Extent {
    var block: UInt32 = 0
    var size: Int = -1

    static func size(of bytes: Int) -> Int {
        let blocks = max(1, (bytes + Int(fluxbus_map_block) - 1) / Int(fluxbus_map_block))
        return Int.bitWidth - (blocks - 1).leadingZeroBitCount
    }
}

/// What bounds a map.
package enum MapLimits {
    /// The longest state, in bytes: the classes of blocks end there.
    package static let state = 1 << 26
    /// The longest name of a store, in bytes.
    package static let name = 1 << 16
}

/// Keeps one map: a sealed file in memory that has the states of many stores.
///
/// It is changed by one thread; readers in any process see each state whole, at its revision.
package final class MapWriter {
    /// What is sent to readers. It can't be written through, cut or grown; closed with the writer.
    package let descriptor: Int32
    package let size: Int
    private let base: UnsafeMutableRawPointer
    private let slots: UnsafeMutablePointer<fluxbus_map_slot>
    private let view: fluxbus_map_view
    private var isEnded = false
    private var used: UInt32 = 0
    private var nextBlock: UInt32
    private let endBlock: UInt32
    /// The blocks that each place owns: two of each slot.
    private var owned: [Extent]
    /// Blocks that were outgrown, by class.
    private var free: [[UInt32]] = Array(repeating: [], count: UInt32.bitWidth)

    /// Makes a map and seals it.
    ///
    /// - Parameters:
    ///   - stores: For how many names it has room.
    ///   - blocks: How many blocks of 64 bytes it has for names and states.
    package init(named name: String, stores: Int, blocks: Int) throws(SystemError) {
        let plan = MapPlan(stores: stores, blocks: blocks)
        let block = Int(fluxbus_map_block)
        size = plan.size
        guard size / block <= Int(UInt32.max) else { throw SystemError("ftruncate", code: EFBIG) }
        descriptor = linux_memory_file(name)
        guard descriptor >= 0 else { throw SystemError("memfd_create") }
        guard ftruncate(descriptor, size) == 0,
            let mapped = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            mapped != MAP_FAILED
        else {
            let error = SystemError("mmap")
            close(descriptor)
            throw error
        }
        base = mapped
        let header = fluxbus_map_header(
            magic: fluxbus_map_magic, size: UInt64(size), seed: .random(in: 0 ... .max),
            slots_begin: UInt64(plan.slots),
            state: fluxbus_map_live, buckets: UInt32(plan.buckets), slots: UInt32(stores), unused: 0)
        mapped.storeBytes(of: header, as: fluxbus_map_header.self)
        var view = fluxbus_map_view()
        precondition(fluxbus_map_find_parts(&view, mapped, UInt64(size)) == 1, "A new map is one.")
        self.view = view
        slots = (mapped + plan.slots).assumingMemoryBound(to: fluxbus_map_slot.self)
        nextBlock = UInt32(plan.blocks / block)
        endBlock = UInt32(size / block)
        owned = Array(repeating: Extent(), count: stores * 2)
        // The mapping above stays writable; no other can be.
        guard linux_seal_for_readers(descriptor) == 0 else { throw SystemError("fcntl") }
    }

    deinit {
        if !isEnded { end(fluxbus_map_ended) }
        munmap(base, size)
        close(descriptor)
    }

    package convenience init(named name: String, _ room: MapRoom) throws(SystemError) {
        try self.init(named: name, stores: room.stores, blocks: room.blocks)
    }

    /// Publishes the state of a store; nil: it was dropped. Readers see the state before or this one.
    package func publish(
        _ state: UnsafeRawBufferPointer?, of name: UnsafeRawBufferPointer, revision: UInt64
    ) throws(MapRefusal) {
        guard state?.count ?? 0 <= MapLimits.state, name.count <= MapLimits.name else { throw .long }
        let known = view.slot(of: name)
        if known >= 0 { return try fill(UInt32(known), state, revision) }
        guard state != nil else { return }
        let hash = fluxbus_map_hash(view.seed, name.baseAddress, name.count)
        let bucket = view.freeBucket(for: hash)
        guard bucket >= 0, used < view.slot_count else { throw .full }
        // Of blocks that nobody had: readers look at names without a sequence.
        let place = try takeNew(Extent.size(of: name.count))
        if let start = name.baseAddress {
            (base + Int(place) * Int(fluxbus_map_block)).copyMemory(from: start, byteCount: name.count)
        }
        slots[Int(used)].name_block = place
        slots[Int(used)].name_length = UInt32(name.count)
        try fill(used, state, revision)
        fluxbus_map_enter(base, bucket, hash, used)
        used += 1
    }

    /// Tells readers that the map is kept no more: `fluxbus_map_moved`, where there is another one, or `fluxbus_map_ended`.
    package func end(_ state: UInt32) {
        isEnded = true
        fluxbus_map_end(base, state)
    }

    private func fill(
        _ number: UInt32, _ state: UnsafeRawBufferPointer?, _ revision: UInt64
    ) throws(MapRefusal) {
        let slot = slots + Int(number)
        let place = Int(number) * 2 + Int((slot.pointee.sequence + 1) & 1)
        if let state {
            let wanted = Extent.size(of: state.count)
            if owned[place].size < wanted {
                let block = try take(wanted)
                if owned[place].size >= 0 { free[owned[place].size].append(owned[place].block) }
                owned[place] = Extent(block: block, size: wanted)
            }
        }
        let length = state.map { UInt32($0.count) } ?? fluxbus_map_no_state
        fluxbus_map_fill(base, slot, owned[place].block, state?.baseAddress, length, revision)
        fluxbus_map_publish(slot)
    }

    private func take(_ size: Int) throws(MapRefusal) -> UInt32 {
        if let block = free[size].popLast() { return block }
        return try takeNew(size)
    }

    private func takeNew(_ size: Int) throws(MapRefusal) -> UInt32 {
        guard UInt64(nextBlock) + (1 << UInt64(size)) <= endBlock else { throw .full }
        defer { nextBlock += 1 << UInt32(size) }
        return nextBlock
    }
}

extension fluxbus_map_view {
    fileprivate func slot(of name: UnsafeRawBufferPointer) -> Int64 {
        withUnsafePointer(to: self) { fluxbus_map_find($0, name.baseAddress, name.count) }
    }

    fileprivate func freeBucket(for hash: UInt64) -> Int64 {
        withUnsafePointer(to: self) { fluxbus_map_free_bucket($0, hash) }
    }
}
