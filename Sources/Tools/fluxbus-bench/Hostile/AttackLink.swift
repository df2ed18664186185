import CLinux

/// One hostile connection: where it stands in its script.
struct AttackLink {
    let script: AttackScript
    /// -1 while it is away.
    var descriptor: Int32 = -1
    /// What is left of the piece that is being sent.
    var rest: ArraySlice<UInt8> = []
    /// Pieces taken, and lines that have come, since it came.
    var pieces = 0
    var lines = 0
    /// What epoll waits for on its behalf.
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

    /// Whether its pieces go out by the clock.
    var isPaced: Bool { if case .every = script.pace { true } else { false } }

    /// Between two pieces, in nanoseconds.
    var interval: UInt64 {
        if case .every(let milliseconds) = script.pace { UInt64(milliseconds) * 1_000_000 } else { 0 }
    }

    /// Whether the next piece may go out as soon as there is room.
    var wantsPiece: Bool {
        switch script.pace {
        case .atOnce: script.piece != nil
        case .every: false
        case .afterAnswer: script.piece != nil && lines >= pieces
        }
    }

    /// Whether there is something to send now.
    var hasMore: Bool { !rest.isEmpty || wantsPiece }

    var interest: UInt32 { (script.reads ? linux_epoll_in : 0) | (hasMore ? linux_epoll_out : 0) }

    var goesTogether: Bool { if case .together = script.leaving { true } else { false } }

    /// Whether it has what it waits for before it goes.
    var isSatisfied: Bool {
        switch script.leaving {
        case .never, .whenSent: false
        case .whenAnswered(let wanted), .together(let wanted): descriptor >= 0 && lines >= wanted
        }
    }
}
