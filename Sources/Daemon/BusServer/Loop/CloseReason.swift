/// All ways in which a connection can end, for the one function that closes it.
enum CloseReason {
    /// The peer finished sending and was answered.
    case peerFinished
    /// The peer is gone or its connection broke.
    case peerLost
    /// A goodbye, or the error that ends a connection, was written.
    case saidGoodbye
    /// The peer did not read the goodbye in time.
    case goodbyeTimedOut

    /// Unread input may keep the peer from reading our goodbye; it is discarded first.
    var drains: Bool {
        switch self {
        case .saidGoodbye, .goodbyeTimedOut: true
        case .peerFinished, .peerLost: false
        }
    }

    /// The reason as the log words it.
    var words: String {
        switch self {
        case .peerFinished: "the client finished"
        case .peerLost: "the client is gone"
        case .saidGoodbye: "said goodbye"
        case .goodbyeTimedOut: "the client did not read the goodbye in time"
        }
    }
}
