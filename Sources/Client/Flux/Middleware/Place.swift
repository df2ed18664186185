import Glibc
import Synchronization

/// A middleware's place in the order: it lasts while the middleware runs, on the thread that runs it.
final class Place: Sendable {
    private let isOpen = Atomic<Bool>(true)
    private let thread = pthread_self()

    /// Whether the caller is at this place.
    var isHere: Bool { isOpen.load(ordering: .acquiring) && pthread_equal(thread, pthread_self()) != 0 }

    func leave() { isOpen.store(false, ordering: .releasing) }
}
