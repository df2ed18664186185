/// What the server knows of one socket. Buffers are the engine's, and it knows the peer: an idle connection costs
/// the server these few numbers, and handing them around counts no references.
struct Connection {
    let descriptor: Int32
    /// Tells this connection from earlier ones with the same number.
    let generation: UInt32
    /// What epoll waits for on its behalf.
    var interest: Poller.Interest = .input
    /// The end of its input was read.
    var inputEnded = false
    /// Writing failed: nobody reads what it is sent. What it sent itself still counts.
    var outputLost = false
    /// Its peer is gone: epoll would report that without end, and does not watch it any more. It is read in its turn.
    var isUnwatched = false
    /// The turn in which it was written as much as one turn allows.
    var sated = 0
    /// It is on its way out and has until then (monotonic milliseconds).
    var mustEndBy: Int?
    /// A TCP client that nothing was written to yet: only a `hello` makes the engine answer.
    var awaitsHello = false

    /// It is read and written, and nothing is to be noted about it.
    var isAsUsual: Bool {
        interest == .input && !inputEnded && !outputLost && mustEndBy == nil && !awaitsHello
    }
}
