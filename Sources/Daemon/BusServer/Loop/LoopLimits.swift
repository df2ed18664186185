import Glibc

/// Every limit of the event loop, each with its reason. Those of the protocol are in `Limits`.
enum LoopLimits {
    /// Events taken at once: mostly as many as there are connections, because those not
    /// among them wait for another turn.
    static let eventsPerTurn = 4096
    /// Nanoseconds that a turn takes at most, except for what can't be interrupted: estimates of work may be too low.
    static let turnNanoseconds = 500_000
    /// The same while several users are active: what one has asked for is found as soon, however much another asks for.
    static let sharedTurnNanoseconds = 100_000
    /// Sockets served before the clock is read again…
    static let eventsPerLook = 16
    /// …unless this much work was done for them, in nanoseconds or so.
    static let workPerLook = 100_000
    /// Nanoseconds charged at most for reading a connection above what was counted for it: a socket full of packets of one
    /// byte takes about half as long. Beyond that another process probably had the processor.
    static let mostUncounted = 150_000
    /// Bytes read from one connection at once: usually all there is, and about as many short lines as a slice executes,
    /// because the rest has to be kept.
    static let readBuffer = 64 << 10
    /// Bytes written to one connection in one turn: a fast reader can't keep the others waiting.
    static let writtenPerTurn = 128 << 10
    /// Bytes written in one turn to all of them, about half a millisecond's worth, and less while several users are active…
    static let flushedPerTurn = 1 << 20
    static let sharedFlushedPerTurn = 128 << 10
    /// …nor for longer than this to connections with much output, or that are closing…
    static let flushNanoseconds = 250_000
    /// …where each system call counts as this many bytes…
    static let costOfWriting = 2 << 10
    /// …a look at one whose socket is full as this many…
    static let costOfLooking = 128
    /// …and closing a connection as this many more.
    static let costOfClosing = 12 << 10
    /// Milliseconds after which a member that is about to hand its clients over looks again whether the shared log has spoken.
    static let lookAtSharedLog: Int32 = 10
    /// With more output than this, in bytes, a connection comes after those with less.
    static let heavyOutput = 32 << 10
    /// Sockets written to by one call of io_uring at most…
    static let gathered = 64
    /// …and at least: for fewer, a call for each costs no more.
    static let leastGathered = 8
    /// Pieces passed to the kernel at once: enough for a burst of shared events, little on the stack.
    static let pieces = 64
    /// Nanoseconds in one turn for accepting connections, of which each takes some ten, or thirty where its client's unit is
    /// looked up. They wait in one line, whoever's they are: the longer it takes, the longer a newcomer waits behind a thousand.
    static let acceptNanoseconds = 250_000
    /// Turns in one wake-up: timers and signals share the queue and need their time.
    static let turnsPerWakeUp = 256
    /// Nanoseconds for which the loop polls for more before it sleeps: about what a client takes that has to be woken for its
    /// reply, and less than being put to sleep and woken costs the two of them.
    static let busyPoll = 50_000
    /// Milliseconds between two looks whether a write to the log holds up the bus queue: so long, or twice, all may wait for a
    /// disk that hangs.
    static let standInLooks = 20
    /// Bytes of a batch that is written on the bus queue: in little more time than waking another thread for it takes.
    static let writtenAtOnce = 8 << 10
    /// Commits of such a batch: while more are written, the queue can make the next ones.
    static let commitsAtOnce = 64
    /// Nanoseconds after which the log gets a batch although more is ready: its clients have waited long enough.
    static let groupNanoseconds = 500_000
    /// Milliseconds for which the loop waits for sockets itself after something came; then Dispatch watches for it.
    static let stay = 100
    /// Times in a row that it polled in vain, after which it sleeps at once…
    static let timesInVain = 8
    /// …until it is woken within this many nanoseconds: about what a wake-up takes, so polling would have paid.
    static let soonAgain = 60_000
    /// Bytes discarded from a connection that is being closed, so that its peer sees an end and no reset.
    static let drained = 1 << 20

    /// TCP clients that have not sent their hello: every user of this machine can be one, and each takes a descriptor
    /// and a first line. Well-behaved clients send it in their first packet and are never many.
    static let strangers = 64
    /// Bytes of that line: the longest token, written as escapes, and room for a name.
    static let firstLine = 8 << 10

    /// Nanoseconds in one turn for handshakes of TLS, which take up to a millisecond each: others come in between.
    static let handshakeNanoseconds = 500_000
    /// Milliseconds after which a failed handshake is answered: as long, whatever was wrong, and longer than finding it out.
    static let refusalWait = 50

    /// Connections reserved for root and the daemon's own user, so that an operator gets in when all others are taken:
    /// a few shells, once there are enough connections to spare them.
    static func reserved(of connections: Int) -> Int { min(8, connections / 8) }

    /// Milliseconds after which accepting is retried when there was no descriptor for it.
    static let acceptPause = 100
    /// While the bus has timers, the clock is looked at so often at least, in milliseconds: one that was set back is noticed.
    static let clockLook = 60_000
}

/// A descriptor kept in reserve. When the process has none left, a waiting connection could be neither accepted nor
/// refused, and the listener would stay ready for ever: closing the spare one makes room to refuse it.
struct SpareDescriptor {
    private var descriptor: Int32 = -1

    init() { take() }

    /// Closes the spare descriptor to make room for one; false when there is none.
    mutating func giveUp() -> Bool {
        guard descriptor >= 0 else { return false }
        SystemCall.close(descriptor)
        descriptor = -1
        return true
    }

    /// Opens the spare descriptor again, if the system has one.
    mutating func take() {
        if descriptor < 0 { descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    }
}

extension EventLoop {
    /// At the end, when no client is refused any more.
    func releaseSpare() { _ = spare.giveUp() }
}

/// Decides whether the loop polls for more events before it releases the queue.
///
/// Most of a lone request's cost is waking a sleeping core. While requests keep arriving, polling for the next one for
/// some microseconds is cheaper than being woken for it. When that was in vain a few times in a row, the loop sleeps at
/// once, until it is woken so soon that polling would have paid.
struct BusyPoll {
    /// Until when to poll; 0 while there is nothing to poll for.
    private var until = 0
    private var timesInVain = 0
    private var fellAsleep = 0

    /// Something was ready. Times are monotonic nanoseconds.
    mutating func somethingCame(now: Int) {
        if until != 0 || now - fellAsleep < LoopLimits.soonAgain { timesInVain = 0 }
        until = now + LoopLimits.busyPoll
    }

    /// Nothing is ready: true to poll again, false to sleep.
    mutating func looksAgain(now: Int) -> Bool {
        if timesInVain < LoopLimits.timesInVain, now < until { return true }
        timesInVain = min(timesInVain + 1, LoopLimits.timesInVain)
        until = 0
        fellAsleep = now
        return false
    }
}
