import Synchronization

/// Names one registered handler, to unregister it or to wait for it.
public struct DispatchToken: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    private let number = Self.last.add(1, ordering: .relaxed).newValue
}
