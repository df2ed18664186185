/// The server's record of one socket. Buffers and the peer are the engine's: an idle connection costs the server these
/// few numbers, and passing them around counts no references.
struct Connection {
    let descriptor: Int32
    /// Distinguishes this connection from earlier ones with the same number.
    let generation: UInt32
    /// The events that epoll waits for.
    var interest: Poller.Interest = .input
    /// The end of its input was read.
    var inputEnded = false
    /// Where output goes, and whether input can be taken as it comes.
    var output = Output.socket
    enum Output {
        /// As it is, both ways.
        case socket
        /// Through TLS, both ways.
        case secured
        /// Writing failed: the client no longer reads. What it has sent still counts.
        case lost
    }
    /// Its peer is gone: epoll would report that without end, and does not watch it any more. It is read in its turn.
    var isUnwatched = false
    /// It is closing, and has a deadline.
    var isEnding = false
    /// A TCP client that nothing was written to yet: only a `hello` makes the engine answer.
    var awaitsHello = false
    /// The last turn in which as much was written to it as one turn allows.
    var sated = 0
    /// In place of a turn: it is written to in another way. So others pay nothing for that.
    static let isWrittenOtherwise = Int.max

    /// It is read and written, and has no special status.
    var isAsUsual: Bool {
        interest == .input && !inputEnded && output == .socket && !isEnding && !awaitsHello
    }
}
