/// What one service takes upon itself, with the reasons.
package enum EffectLimits {
    /// Bytes of an effect's name, so that the key of a dispatch has room for the epoch, the revision and the rest.
    package static let name = 48
    /// Effects of one service: each has a subscription, of which a connection may have 1,024.
    package static let effects = 1000
    /// Events that one effect handles at a time: each has a process, a thread or a connection.
    package static let running = 64
    /// Events of one effect that are in memory. The others wait in the bus's log.
    package static let window = 1024
    /// Bytes of these events.
    package static let windowBytes = 4 << 20
    /// Events of one effect that were set aside; with more it is paused, because something is wrong with it.
    package static let failures = 100
    /// Bytes of the reason that is kept of a failure.
    package static let reason = 500
    /// Stores of one effect for which its condition has become true, and its event is not settled: they stand in its store.
    package static let beginnings = 1000
    /// Commits of which it is known which effects they follow from, for finding loops.
    package static let ancestors = 10_000
    /// How long its place on the bus may lag behind while events are handled, in nanoseconds: after a crash, so much is
    /// done again.
    package static let progress = 500_000_000
    /// The same while no event is meant, in nanoseconds: nothing would be done again.
    package static let idleProgress = 30_000_000_000
    /// Commits by which its place may lag behind while no event is meant.
    package static let idleCommits = 1000
    /// How long an event may wait for others while no request is unanswered: a wake-up costs more than reading one.
    package static let readInterval = Duration.milliseconds(5)
    /// Stores that one action to a whole type is handled for.
    package static let stores = 10_000
    /// Bytes of an address, of a header's value and of a secret: servers refuse longer ones.
    package static let header = 8 << 10
    /// Bytes of a server's answer that are read: what is beyond is of no interest.
    package static let answer = 64 << 10
    /// Bytes of it that are told where it is a refusal.
    package static let words = 200
    /// How long connecting to a server may take.
    package static let connecting = Duration.seconds(10)
    /// How long programs may go on when the service ends.
    package static let ending = Duration.seconds(10)
    /// The wait before something is tried again that the bus refused.
    package static let pause = Duration.seconds(5)
}
