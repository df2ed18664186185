import BusJSON

/// The stores of a type in the order of the bytes of their names, for lists and patterns.
///
/// No order is kept before the first read; from then on new stores wait in a list until the next read, which puts them
/// in their places a few at a time. So creating a store costs next to nothing, a list costs what it shows, and no
/// client ever waits for a million names to be sorted.
package final class OrderedStores {
    /// Blocks of indices, each sorted, in order: adding or removing a store moves at most one block's worth of them.
    private var blocks: [ContiguousArray<Int32>] = []
    private static let blockSize = 512

    /// Stores that have no place yet. Some may have been dropped since, or their index reused by another store.
    private var pending: ContiguousArray<Int32> = []
    private var isKept = false
    private(set) var count = 0
    private let type: Int32
    private let stores: StoreTable

    init(ofType type: Int32, _ stores: StoreTable) {
        self.type = type
        self.stores = stores
    }

    /// Whether all stores have their places.
    package var isComplete: Bool { isKept && pending.isEmpty }

    /// Called before a read: from now on an order is kept. `members`: the stores there are; negative where one was.
    package func prepare(_ members: ContiguousArray<Int32>) {
        if isKept { return }
        isKept = true
        pending = members
    }

    func add(_ index: Int32) {
        guard isKept else { return }
        pending.append(index)
        // The last read was long ago, and most stores are new: starting again with the next read is as cheap.
        if pending.count > 1024, pending.count > 2 * count { forget() }
    }

    /// A store is dropped; its record is still there.
    func remove(_ index: Int32) {
        guard isKept, count > 0 else { return }
        guard let (block, place) = find(index) else { return }
        blocks[block].remove(at: place)
        count -= 1
        if blocks[block].isEmpty { blocks.remove(at: block) }
    }

    private func forget() {
        blocks = []
        pending = []
        count = 0
        isKept = false
    }

    /// Puts stores in their places while `mayGoOn`.
    package func putInPlace(while mayGoOn: () -> Bool) {
        while let index = pending.popLast() {
            if index >= 0 { put(index) }
            if !mayGoOn() { return }
        }
        if pending.capacity > 4096 { pending = [] }
    }

    private func put(_ index: Int32) {
        let record = stores.pointer(index)
        // It has been dropped since, or its index is another type's by now.
        guard stores.isThere(index), record.pointee.type == type else { return }
        guard !blocks.isEmpty else {
            blocks = [[index]]
            count = 1
            return
        }
        let block = block(of: record.pointee.name)
        let place = place(of: record.pointee.name, in: block)
        if place < blocks[block].count, blocks[block][place] == index { return }
        blocks[block].insert(index, at: place)
        count += 1
        if blocks[block].count > Self.blockSize {
            let half = blocks[block].count / 2
            let rest = ContiguousArray(blocks[block][half...])
            blocks[block].removeSubrange(half...)
            blocks.insert(rest, at: block + 1)
        }
    }

    // MARK: Look-up

    /// Visits the stores whose names are not before `start`, in order, until `body` returns false;
    /// true when it came to the end.
    @discardableResult
    package func forEach(from start: String?, _ body: (Int32) -> Bool) -> Bool {
        guard count > 0 else { return true }
        var block = start.map { self.block(of: $0) } ?? 0
        var place = start.map { self.place(of: $0, in: block) } ?? 0
        while block < blocks.count {
            while place < blocks[block].count {
                if !body(blocks[block][place]) { return false }
                place += 1
            }
            block += 1
            place = 0
        }
        return true
    }

    private func find(_ index: Int32) -> (block: Int, place: Int)? {
        let name = stores.pointer(index).pointee.name
        let block = block(of: name)
        let place = place(of: name, in: block)
        guard place < blocks[block].count, blocks[block][place] == index else { return nil }
        return (block, place)
    }

    /// The block in which a name has its place: the last one that does not begin after it.
    private func block(of name: String) -> Int {
        var (low, high) = (0, blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if UTF8Order.precedes(name, self.name(blocks[middle][0])) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return max(0, low - 1)
    }

    /// The first place in a block whose name is not before a name.
    private func place(of name: String, in block: Int) -> Int {
        var (low, high) = (0, blocks[block].count)
        while low < high {
            let middle = (low + high) / 2
            if UTF8Order.precedes(self.name(blocks[block][middle]), name) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private func name(_ index: Int32) -> String { stores.pointer(index).pointee.name }
}
