/// A listening socket in the event loop.
struct Acceptor {
    /// Marks tokens that stand for acceptors; the rest of the token is the index among them.
    static let tokenMark: UInt64 = 1 << 63

    let listener: Listener
    let token: UInt64

    init(_ listener: Listener, index: Int) {
        self.listener = listener
        token = Acceptor.tokenMark | UInt64(index)
    }
}
