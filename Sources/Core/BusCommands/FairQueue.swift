/// The queue of those that wait for a turn: fair queueing by estimated finish time.
///
/// Time is counted in work. Every connection has a share: how far it has come on that clock. The share of one that is
/// served advances by the work done for it, and the one that would be done first is served next: it has come least far,
/// and asks for least. So a connection that asks for little is served at once, however many others ask for much; one
/// that caused a long commit waits until the others have had as much; and one that is alone never waits.
@frozen
public struct FairQueue<Element> {
    @usableFromInline
    struct Entry {
        /// Where it begins on the clock.
        @usableFromInline let start: Int
        /// Where it will probably end.
        @usableFromInline let end: Int
        /// Among those that end together, the one that waits longest comes first.
        @usableFromInline let order: Int
        @usableFromInline let element: Element

        @inlinable
        init(start: Int, end: Int, order: Int, element: Element) {
            (self.start, self.end, self.order, self.element) = (start, end, order, element)
        }
    }

    /// A binary heap, the next one first.
    @usableFromInline var heap: ContiguousArray<Entry> = []
    @usableFromInline var order = 0

    /// Where the clock stands: the latest start of those served. Nothing begins before it, or before the next that waits, so
    /// waiting or being absent saves nothing up.
    @inlinable public var clock: Int { time }
    @usableFromInline var time = 0

    @inlinable
    public init() {}

    @inlinable public var isEmpty: Bool { heap.isEmpty }
    @inlinable public var count: Int { heap.count }

    /// Where the next one will probably end, and what it will probably take; nil where none waits.
    @inlinable public var firstEnd: Int? { heap.first?.end }
    @inlinable public var firstWork: Int? { heap.first.map { $0.end &- $0.start } }
    @inlinable public var first: Element? { heap.first?.element }

    /// Adds an element to the queue; `work`: its cost, where that is known.
    @inlinable
    public mutating func add(_ element: Element, _ share: inout Share, expecting work: Int? = nil) {
        // Those that wait may have begun before the clock: it shows the latest start, and the next one is as far as they are.
        share.begin(at: min(clock, heap.first?.start ?? clock))
        order &+= 1
        insert(
            Entry(
                start: share.done, end: share.done &+ (work ?? share.expected), order: order, element: element
            ))
    }

    @inlinable
    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard precedes(heap[place], heap[parent]) else { break }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    /// Takes the next element.
    @inlinable
    public mutating func takeFirst() -> Element? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else {
            time = max(time, last.start)
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
        time = max(time, first.start)
        return first.element
    }

    /// An element is served without having waited, because no other waits.
    @inlinable @inline(__always)
    public mutating func serveAtOnce(_ share: inout Share) {
        share.begin(at: clock)
        time = share.done
    }

    /// Removes the elements for which `isLeaving` is true, in no order.
    @inlinable
    public mutating func removeAll(where isLeaving: (Element) -> Bool) -> [Element] {
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

    @inlinable
    func precedes(_ one: Entry, _ other: Entry) -> Bool {
        (one.end, one.order) < (other.end, other.order)
    }
}

/// How far a connection has come on the clock of work, and what it is likely to take next; see `FairQueue`.
@frozen
public struct Share {
    /// The work that was done for it, and the time on the clock for which it asked for none.
    @inlinable public var done: Int { position }
    /// The likely work of its next service: the most that one took lately, because one small request must
    /// not make room for a large one.
    @inlinable public var expected: Int { most }
    @usableFromInline var position = 0
    @usableFromInline var most: Int

    @inlinable
    public init(expecting work: Int) { most = work }

    /// It begins to wait, or is served, at a time on the clock: time not used before is not saved up.
    @inlinable
    public mutating func begin(at clock: Int) { position = max(position, clock) }

    /// Charges work done on its behalf that another connection caused; it is set back by that no further than `limit`.
    @inlinable @inline(__always)
    public mutating func owe(_ work: Int, upTo limit: Int) {
        position = max(position, min(position &+ work, limit))
    }

    /// It was served; the next time may take more or less.
    @inlinable @inline(__always)
    public mutating func advance(by work: Int) { position &+= work }

    /// It was served.
    @inlinable @inline(__always)
    public mutating func charge(_ work: Int) {
        position &+= work
        most = max(work, most &- most &>> 4)
    }
}
