/// A queue: first in, first out. Adding and removing cost the same however long it is.
@usableFromInline
struct FirstInFirstOut<Element> {
    @usableFromInline var arrived: [Element] = []
    /// The front of the queue, its first element last.
    @usableFromInline var leaving: [Element] = []

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    @inlinable var first: Element? { leaving.last ?? arrived.first }

    @inlinable
    mutating func append(_ element: Element) { arrived.append(element) }

    @inlinable
    mutating func popFirst() -> Element? {
        if leaving.isEmpty {
            // Mostly there is one.
            if arrived.count < 2 { return arrived.popLast() }
            swap(&arrived, &leaving)
            leaving.reverse()
        }
        let element = leaving.popLast()
        // The memory of both is kept for the next ones, but not that of a queue that was long once.
        if leaving.isEmpty, leaving.capacity > 1024 { leaving = [] }
        return element
    }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
