import CLinux

/// One hostile connection: its position in its script.
struct AttackLink {
    let script: AttackScript
    /// -1 while it is closed.
    var descriptor: Int32 = -1
    /// What is left of the piece that is being sent.
    var rest: ArraySlice<UInt8> = []
    /// Pieces taken, and lines received, since it was opened.
    var pieces = 0
    var lines = 0
    /// The events that epoll waits for.
    var asked: UInt32 = 0
    var comesBackAt: UInt64 = 0
    var nextPieceAt: UInt64 = 0

    init(_ script: AttackScript) { self.script = script }

    mutating func begin(_ descriptor: Int32, number: Int, now: UInt64) {
        self.descriptor = descriptor
        rest = script.opening(number)[...]
        pieces = 0
        lines = 0
        nextPieceAt = now
        asked = interest
    }

    /// Whether its pieces are sent by the clock.
    var isPaced: Bool { if case .every = script.pace { true } else { false } }

    /// Between two pieces, in nanoseconds.
    var interval: UInt64 {
        if case .every(let milliseconds) = script.pace { UInt64(milliseconds) * 1_000_000 } else { 0 }
    }

    /// Whether the next piece may be sent as soon as there is room.
    var wantsPiece: Bool {
        switch script.pace {
        case .atOnce: script.piece != nil
        case .every: false
        case .afterAnswers(let count): script.piece != nil && lines >= pieces * count
        }
    }

    /// Whether there is something to send now.
    var hasMore: Bool { !rest.isEmpty || wantsPiece }

    var interest: UInt32 { (script.reads ? linux_epoll_in : 0) | (hasMore ? linux_epoll_out : 0) }

    var goesTogether: Bool { if case .together = script.leaving { true } else { false } }

    /// Whether it has what it waits for before it closes.
    var isSatisfied: Bool {
        switch script.leaving {
        case .never, .whenSent, .whenHeard: false
        case .whenAnswered(let wanted), .together(let wanted): descriptor >= 0 && lines >= wanted
        }
    }
}
