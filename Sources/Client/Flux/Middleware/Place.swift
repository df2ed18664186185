import Synchronization

/// A middleware's place in the order: it lasts while the middleware runs, on the thread that runs it.
final class Place: Sendable {
    private let isOpen = Atomic<Bool>(true)
    private let thread = ObjectIdentifier(ThreadContext.current)

    /// Whether the caller is at this place.
    var isHere: Bool {
        isOpen.load(ordering: .acquiring) && thread == ObjectIdentifier(ThreadContext.current)
    }

    func leave() { isOpen.store(false, ordering: .releasing) }
}
