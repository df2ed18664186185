import BusState

/// The timers and leases of a bus: a heap by what is due first, and for each owner a list of its own.
///
/// A commit that has nothing to do with time never looks here: the table costs the bus one comparison a turn. Setting,
/// taking away and firing cost the heap's depth; a lease is renewed by writing down when, and its place in the heap is
/// corrected when it comes up.
package struct TimerTable {
    /// A timer in the heap, with what it is ordered by.
    private struct Entry {
        var due: Int
        let order: Int
        let slot: Int32

        func precedes(_ other: Entry) -> Bool {
            due < other.due || due == other.due && order < other.order
        }
    }

    private var slots: ContiguousArray<BusTimer?> = []
    private var free: [Int32] = []
    /// Four children to an entry: half as deep as with two, and their keys lie side by side.
    private var heap: ContiguousArray<Entry> = []
    /// The first timer of each type that has one.
    private var firstOfType: [String: Int32] = [:]
    /// Counts the timers that were ever set here.
    private var setCount = 0

    /// How many timers there are, and how many leases.
    package private(set) var count = 0
    package private(set) var leaseCount = 0
    /// How many timers each identity has set, by its number.
    private(set) var countByAsker: [Int32: Int] = [:]
    /// What they take, in bytes.
    package private(set) var bytes = 0
    /// How often an entry of the heap was compared or moved: a measure of work for tests.
    package private(set) var steps = 0

    package var isEmpty: Bool { heap.isEmpty }

    /// When to look here next, in milliseconds since 1970: never, when nothing is due at any time. It may be too early,
    /// because leases are renewed without a look at the heap.
    package var nextDue: Int { heap.first?.due ?? .max }

    /// The first of the timers and leases that are due at a time. Nil although `nextDue` has come: some leases were
    /// renewed, and more may have been than are looked at in one call.
    package mutating func firstDue(at time: Int) -> BusTimer? {
        for _ in 0..<Self.renewalsAtOnce {
            guard let first = heap.first, first.due <= time else { return nil }
            let timer = slots[Int(first.slot)]!
            if timer.due == first.due { return timer }
            // A lease that was renewed.
            heap[0].due = timer.due
            sink(from: 0)
        }
        return nil
    }

    /// One dispatch may have renewed a million leases: this many are put in their place without a pause.
    private static let renewalsAtOnce = 256

    /// Visits all, in no order.
    package func forEach(_ body: (BusTimer) -> Void) {
        for entry in heap { body(slots[Int(entry.slot)]!) }
    }

    /// How many slots there are: each timer stays in its slot for as long as it is set, so who goes through them a few at a
    /// time sees all that are set meanwhile and before.
    package var slotCount: Int { slots.count }

    /// The timer in a slot; nil where there is none.
    package func timer(inSlot slot: Int) -> BusTimer? { slots[slot] }

    /// The slots in which timers were set while somebody goes through all slots, and may have passed them; in the order of the
    /// timers' numbers. A slot in which another timer was set later may still stand here with the earlier number, too.
    private var setMeanwhile: ContiguousArray<(number: Int, slot: Int32)> = []
    /// By slot: the number of the timer that was set there last.
    private var numbers: ContiguousArray<Int> = []
    /// The number of the timer that was set last.
    private(set) var lastNumber = 0
    private(set) var readers = 0

    /// Somebody begins to go through the slots, or is done.
    mutating func noteReader(_ change: Int) {
        readers += change
        if readers == 0 { setMeanwhile = [] }
    }

    /// How many entries are kept for those who go through the slots: at most twice the number of slots, and a few.
    package var keptMeanwhile: Int { setMeanwhile.count }

    /// The first slot in which a timer with a number above this one was set meanwhile, and that timer's number.
    func firstSet(after number: Int) -> (number: Int, slot: Int32)? {
        var (low, high) = (0, setMeanwhile.count)
        while low < high {
            let middle = (low + high) / 2
            if setMeanwhile[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low < setMeanwhile.count ? setMeanwhile[low] : nil
    }

    private mutating func number(slot: Int32) {
        lastNumber += 1
        numbers[Int(slot)] = lastNumber
        guard readers > 0 else { return }
        setMeanwhile.append((lastNumber, slot))
        if setMeanwhile.count > 2 * slots.count + Self.keptAtLeast {
            setMeanwhile.removeAll { [numbers] in numbers[Int($0.slot)] != $0.number }
        }
    }

    private static let keptAtLeast = 64

    /// All in the order in which they are due.
    package var inOrder: [BusTimer] {
        heap.map { slots[Int($0.slot)]! }.sorted { ($0.due, $0.order) < ($1.due, $1.order) }
    }

    // MARK: Setting and taking away

    /// Adds a timer behind all others that are due at the same time; `first` is the first one of its owner, and becomes
    /// this one.
    mutating func add(_ timer: BusTimer, first: inout Int32) {
        timer.order = setCount
        setCount += 1
        insert(timer, first: &first)
    }

    /// Puts a timer back that was removed, with the order it had.
    mutating func insert(_ timer: BusTimer, first: inout Int32) {
        if let slot = free.popLast() {
            timer.slot = slot
            slots[Int(slot)] = timer
        } else {
            timer.slot = Int32(slots.count)
            slots.append(timer)
            numbers.append(0)
        }
        number(slot: timer.slot)
        timer.next = first
        first = timer.slot
        heap.append(Entry(due: timer.due, order: timer.order, slot: timer.slot))
        rise(from: heap.count - 1)
        note(timer, 1)
    }

    /// Removes a timer from its owner's list and from the heap.
    mutating func remove(_ timer: BusTimer, first: inout Int32) {
        if first == timer.slot {
            first = timer.next
        } else {
            var before = slots[Int(first)]!
            while before.next != timer.slot { before = slots[Int(before.next)]! }
            before.next = timer.next
        }
        forget(timer)
    }

    /// Removes all timers of an owner.
    mutating func removeAll(from first: inout Int32) {
        while first >= 0 {
            let timer = slots[Int(first)]!
            first = timer.next
            forget(timer)
        }
    }

    /// Makes all timers and leases due this many milliseconds earlier.
    mutating func advance(by milliseconds: Int) {
        for index in heap.indices {
            let due = max(0, heap[index].due - milliseconds)
            heap[index].due = due
            slots[Int(heap[index].slot)]!.due = due
        }
    }

    private mutating func forget(_ timer: BusTimer) {
        let place = Int(timer.place)
        let last = heap.removeLast()
        if place < heap.count {
            let isEarlier = last.precedes(heap[place])
            put(last, at: place)
            if isEarlier { rise(from: place) } else { sink(from: place) }
        }
        slots[Int(timer.slot)] = nil
        free.append(timer.slot)
        (timer.slot, timer.place, timer.next) = (-1, -1, -1)
        note(timer, -1)
    }

    private mutating func note(_ timer: BusTimer, _ sign: Int) {
        switch timer.purpose {
        case .lease: leaseCount += sign
        case .action(_, _, let principal):
            count += sign
            countByAsker[principal.number, default: 0] += sign
        }
        bytes += sign * timer.size
    }

    // MARK: Owners

    /// The timer of a name in an owner's list, or its lease (an empty name).
    func find(_ name: String, from first: Int32) -> BusTimer? {
        var slot = first
        while slot >= 0 {
            let timer = slots[Int(slot)]!
            if timer.name.utf8.elementsEqual(name.utf8) { return timer }
            slot = timer.next
        }
        return nil
    }

    /// How many timers an owner's list has, without the lease.
    func count(from first: Int32) -> Int {
        var (slot, count) = (first, 0)
        while slot >= 0 {
            let timer = slots[Int(slot)]!
            if timer.lease == nil { count += 1 }
            slot = timer.next
        }
        return count
    }

    /// The first timer of a type; -1 if it has none.
    subscript(firstOfType name: String) -> Int32 {
        get { firstOfType[name] ?? -1 }
        set { firstOfType[name] = newValue < 0 ? nil : newValue }
    }

    // MARK: The heap

    private mutating func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        slots[Int(entry.slot)]!.place = Int32(place)
        steps += 1
    }

    private mutating func rise(from place: Int) {
        let entry = heap[place]
        var place = place
        while place > 0 {
            let parent = (place - 1) / 4
            steps += 1
            guard entry.precedes(heap[parent]) else { break }
            put(heap[parent], at: place)
            place = parent
        }
        put(entry, at: place)
    }

    private mutating func sink(from place: Int) {
        let entry = heap[place]
        var place = place
        while true {
            let start = 4 * place + 1
            guard start < heap.count else { break }
            var least = start
            for child in start + 1..<max(start + 1, min(start + 4, heap.count))
            where heap[child].precedes(heap[least]) {
                least = child
            }
            steps += 4
            guard heap[least].precedes(entry) else { break }
            put(heap[least], at: place)
            place = least
        }
        put(entry, at: place)
    }
}
