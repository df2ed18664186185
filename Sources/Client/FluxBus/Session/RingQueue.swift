/// A queue in one run of memory: first in, first out, each in constant time, and the storage is kept.
struct RingQueue<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { count == 0 ? nil : slots[head] }

    mutating func append(_ element: consuming Element) {
        if count == slots.count { grow() }
        slots[(head &+ count) & (slots.count &- 1)] = element
        count &+= 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head &+ 1) & (slots.count &- 1)
        count &-= 1
        return element
    }

    /// Returns the element that was removed last to the front.
    mutating func putBack(_ element: consuming Element) {
        if count == slots.count { grow() }
        head = (head &- 1) & (slots.count &- 1)
        slots[head] = element
        count &+= 1
    }

    /// The element that many places after the first; nil after the last.
    subscript(place: Int) -> Element? {
        place < count ? slots[(head &+ place) & (slots.count &- 1)] : nil
    }

    /// Changes the element that many places after the first, if there is one.
    mutating func update(at place: Int, _ change: (inout Element) -> Void) {
        guard place < count, var element = slots[(head &+ place) & (slots.count &- 1)].take() else { return }
        change(&element)
        slots[(head &+ place) & (slots.count &- 1)] = element
    }

    /// The elements from the first to the last.
    var elements: [Element] {
        (0..<count).compactMap { slots[(head &+ $0) & (slots.count &- 1)] }
    }

    /// Removes and returns all elements.
    mutating func removeAll() -> [Element] {
        let all = elements
        self = RingQueue()
        return all
    }

    private mutating func grow() {
        var larger: [Element?] = elements
        let capacity = max(16, slots.count * 2)
        larger.append(contentsOf: repeatElement(nil, count: capacity - larger.count))
        slots = larger
        head = 0
    }
}

extension RingQueue: Sendable where Element: Sendable {}
