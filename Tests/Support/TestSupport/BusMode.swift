/// Where the commits of a `MemoryBus` are made.
package enum BusMode: String, CaseIterable, Sendable {
    /// On this machine, at once.
    case alone
    /// By a shared log, as on a bus of several machines, of which this is one.
    case shared

    /// The mode of buses whose setup says nothing else.
    @TaskLocal package static var current = BusMode.alone
}
