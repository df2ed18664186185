/// Every bound of the event loop, each with its reason. Those of the protocol are in `Limits`.
enum LoopLimits {
    /// Events taken at once: as many as there are connections, mostly, as who is not among them waits for another turn.
    static let eventsPerTurn = 4096
    /// Nanoseconds that a turn takes at most, but for what can't be interrupted: estimates of work may be too low.
    static let turnNanoseconds = 500_000
    /// Sockets served before the clock is looked at again…
    static let eventsPerLook = 16
    /// …unless so much work was done for them, in nanoseconds or so.
    static let workPerLook = 100_000
    /// Bytes read from one connection at once: usually all there is, and about what a slice carries out of short lines, as what
    /// is left has to be kept.
    static let readBuffer = 64 << 10
    /// Bytes written to one connection in one turn: who reads fast can't keep the others waiting.
    static let writtenPerTurn = 128 << 10
    /// Bytes written in one turn to all of them, about half a millisecond's worth…
    static let flushedPerTurn = 1 << 20
    /// …nor for longer than this to those who are sent much, or are going…
    static let flushNanoseconds = 250_000
    /// …where each call of the kernel counts as so many.
    static let costOfWriting = 2 << 10
    /// …and closing a connection as so many more.
    static let costOfClosing = 12 << 10
    /// Bytes from which on a connection comes after those that are sent less.
    static let heavyOutput = 32 << 10
    /// Pieces handed to the kernel at once: enough for a burst of shared events, little on the stack.
    static let pieces = 64
    /// Connections accepted in one turn: each takes some thirty microseconds, as its client's unit is looked up.
    static let acceptedPerTurn = 4
    /// Turns in one wake-up: timers and signals share the queue and want theirs.
    static let turnsPerWakeUp = 256
    /// Nanoseconds for which the loop looks for more before it sleeps: waking a core costs more than this.
    static let busyPoll = 20_000
    /// Nanoseconds after which the log is given a group although more is ready: its clients have waited long enough.
    static let groupNanoseconds = 500_000
    /// Milliseconds for which the loop waits for sockets itself after something came; then Dispatch watches for it.
    static let stay = 100
    /// Times in a row that it did so in vain, after which it sleeps at once…
    static let timesInVain = 8
    /// …until it is woken within so many nanoseconds: about what being woken takes, and looking would have paid.
    static let soonAgain = 40_000
    /// Bytes thrown away from a connection that is being closed, so that its peer sees an end and no reset.
    static let drained = 1 << 20

    /// TCP clients that have not said hello: anybody on this machine can be one, and each takes a descriptor and a first
    /// line. Those that mean well say it in their first packet and are never many.
    static let strangers = 64
    /// Bytes of that line: the longest token, written as escapes, and room for a name.
    static let firstLine = 8 << 10

    /// Connections that only root and the daemon's own user can have, so that an operator gets in when all others are
    /// taken: a few shells, out of as many as it takes to spare them.
    static func reserved(of connections: Int) -> Int { min(8, connections / 8) }

    /// Milliseconds after which accepting is tried again when there was no descriptor for it.
    static let acceptPause = 100
}
