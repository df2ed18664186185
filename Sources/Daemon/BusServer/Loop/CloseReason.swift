/// Every way a connection can end, for the one place that closes it.
enum CloseReason {
    /// The peer finished sending and was answered.
    case peerFinished
    /// The peer is gone or its connection broke.
    case peerLost
    /// A goodbye, or the error that ends a connection, was written.
    case saidGoodbye
    /// The peer did not take the goodbye in time.
    case goodbyeTimedOut

    /// What is unread may keep the peer from reading our last words; it is thrown away first.
    var drains: Bool {
        switch self {
        case .saidGoodbye, .goodbyeTimedOut: true
        case .peerFinished, .peerLost: false
        }
    }

    /// In the words of the log.
    var words: String {
        switch self {
        case .peerFinished: "the client finished"
        case .peerLost: "the client is gone"
        case .saidGoodbye: "goodbye was said"
        case .goodbyeTimedOut: "goodbye was not taken in time"
        }
    }
}
