/// What an innocent client may see beside hostile ones, and what a bus may take.
enum HostileBars {
    /// The reply that 99 of 100 are not later than, in milliseconds: beside one hostile connection, and beside many.
    static func latest(beside connections: Int) -> Double { connections > 1 ? 20 : 5 }
    /// The longest silence while something was due, in milliseconds.
    static let silence = 100.0
    /// What the process may take beside its memory limit: 1.25 times that, and this for itself.
    static func peak(limit: Int) -> Int { limit + limit / 4 + ownBytes }
    /// What it may keep afterwards beside what it holds.
    static let ownBytes = 32 << 20
    /// Of a hundred requests of an attack that is to succeed, how many may be refused.
    static let refused = 10
    /// How long it may take to give memory back, in nanoseconds.
    static let givingBack: UInt64 = 5_000_000_000
}
