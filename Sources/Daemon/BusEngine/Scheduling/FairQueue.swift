/// Who waits for a turn, in the order of fairness: fair queueing by the time at which each would be done.
///
/// Time is counted in work. Everybody has a share: how far it has come on that clock. Who is served moves forward by the work
/// that is done for it, and the one comes next that would be done first: that has come least far, and asks for least. So one
/// who asks for little is served at once, however many others ask for much; one who caused a long commit waits until the
/// others have had as much; and who is alone never waits.
struct FairQueue<Element> {
    private struct Entry {
        /// Where it begins on the clock.
        let start: Int
        /// Where it will probably end.
        let end: Int
        /// Among those who end together, who waits longest comes first.
        let order: Int
        let element: Element
    }

    /// A binary heap, who comes next first.
    private var heap: ContiguousArray<Entry> = []
    private var order = 0

    /// Where the clock stands: where those who were served began at most. Nobody begins before it, so that waiting, or not
    /// having been there, is nothing to be saved up.
    private(set) var clock = 0

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }

    /// Somebody waits for its turn; `work`: what it will take, where that is known.
    mutating func add(_ element: Element, _ share: inout Share, expecting work: Int? = nil) {
        share.begin(at: clock)
        order &+= 1
        insert(
            Entry(
                start: share.done, end: share.done &+ (work ?? share.expected), order: order, element: element
            ))
    }

    private mutating func insert(_ entry: Entry) {
        heap.append(entry)
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
        guard let first = heap.first else {
            clock = max(clock, last.start)
            return last.element
        }
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
        clock = max(clock, first.start)
        return first.element
    }

    /// Somebody is served without having waited, as nobody else does.
    @inline(__always)
    mutating func serveAtOnce(_ share: inout Share) {
        share.begin(at: clock)
        clock = share.done
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
                insert(entry)
            }
        }
        return left
    }

    private func precedes(_ one: Entry, _ other: Entry) -> Bool {
        (one.end, one.order) < (other.end, other.order)
    }
}

/// How far somebody has come on the clock of work, and what it is likely to take next; see `FairQueue`.
struct Share {
    /// The work that was done for it, and the time on the clock that it did not ask for any.
    private(set) var done = 0
    /// The work that its next service is likely to take: the most that one took lately, as one little request must not make
    /// room for a large one.
    private(set) var expected: Int

    init(expecting work: Int) { expected = work }

    /// It begins to wait, or is served, at a time on the clock: what it did not ask for before is not saved up.
    mutating func begin(at clock: Int) { done = max(done, clock) }

    /// Something was done on its behalf that somebody else caused; nobody can be put back by that beyond `limit`.
    @inline(__always)
    mutating func owe(_ work: Int, upTo limit: Int) { done = max(done, min(done &+ work, limit)) }

    /// It was served.
    @inline(__always)
    mutating func charge(_ work: Int) {
        done &+= work
        expected = max(work, expected &- expected &>> 4)
    }
}
