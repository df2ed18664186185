/// A queue: first in, first out. Adding and removing cost the same however long it is.
struct FirstInFirstOut<Element> {
    private var arrived: [Element] = []
    /// The front of the queue, its first element last.
    private var leaving: [Element] = []

    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    var first: Element? { leaving.last ?? arrived.first }

    mutating func append(_ element: Element) { arrived.append(element) }

    mutating func popFirst() -> Element? {
        if leaving.isEmpty, !arrived.isEmpty {
            // Swapping keeps the memory of both for the next ones, but not that of a queue that was long once.
            if leaving.capacity > 1024 { leaving = [] }
            swap(&arrived, &leaving)
            leaving.reverse()
        }
        return leaving.popLast()
    }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
