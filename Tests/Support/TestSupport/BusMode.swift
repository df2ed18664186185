import Synchronization

/// Where the commits of a `MemoryBus` are made.
package enum BusMode: String, CaseIterable, Sendable {
    /// On this machine, at once.
    case alone
    /// By a shared log, as on a bus of several machines, of which this is one.
    case shared

    /// The mode of buses whose setup says nothing else.
    @TaskLocal package static var current = BusMode.alone
    /// Counts the shared buses that are made; nil: nobody asks.
    @TaskLocal package static var count: SharedBusCount?
}

/// How many shared buses a test has made.
package final class SharedBusCount: Sendable {
    private let made = Atomic(0)
    package init() {}
    package var isZero: Bool { made.load(ordering: .relaxed) == 0 }
    func add() { made.add(1, ordering: .relaxed) }
}
