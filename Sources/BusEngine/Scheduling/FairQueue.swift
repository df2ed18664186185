/// Who waits for a turn, in the order of fairness: start-time fair queueing.
///
/// Time is counted in work. Everybody has a share: how far it has come on that clock. Who is served moves forward by the work
/// that was done for it, and the one that is least far comes next. So one who asks for little is served at once,
/// however much others have asked for; one who caused a long commit waits until the others have had as much; and who
/// is alone never waits.
struct FairQueue<Element> {
    private struct Entry {
        /// Where it begins on the clock.
        let start: Int
        /// Among those who begin together, who has come least far comes first, then who waits longest.
        let share: Int
        let order: Int
        let element: Element
    }

    /// A binary heap, who comes next first.
    private var heap: ContiguousArray<Entry> = []
    private var order = 0

    /// Where the clock stands: at the share of who was served last. Nobody begins before it, so that waiting, or not having
    /// been there, is nothing to be saved up.
    private(set) var clock = 0

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }

    /// Somebody with this share waits for its turn.
    mutating func add(_ element: Element, share: Int) {
        order &+= 1
        heap.append(Entry(start: max(share, clock), share: share, order: order, element: element))
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard precedes(heap[place], heap[parent]) else { break }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    /// Whose turn it is.
    mutating func takeFirst() -> Element? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return last.element }
        heap[0] = last
        var place = 0
        while true {
            var least = 2 * place + 1
            guard least < heap.count else { break }
            if least + 1 < heap.count, precedes(heap[least + 1], heap[least]) { least += 1 }
            guard precedes(heap[least], heap[place]) else { break }
            heap.swapAt(place, least)
            place = least
        }
        return first.element
    }

    /// Takes out those that `isLeaving` says, in no order.
    mutating func removeAll(where isLeaving: (Element) -> Bool) -> [Element] {
        let all = heap
        heap.removeAll()
        var left: [Element] = []
        for entry in all {
            if isLeaving(entry.element) {
                left.append(entry.element)
            } else {
                add(entry.element, share: entry.share)
            }
        }
        return left
    }

    /// Work was done for somebody; gives the new share.
    @inline(__always)
    mutating func charge(_ work: Int, to share: Int) -> Int {
        clock = max(clock, share)
        return clock &+ work
    }

    private func precedes(_ one: Entry, _ other: Entry) -> Bool {
        (one.start, one.share, one.order) < (other.start, other.share, other.order)
    }
}
