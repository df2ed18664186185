/// One connection under load: what it has been sent and what came back, in numbers only.
struct Link {
    let descriptor: Int32
    let isSubscriber: Bool
    /// Requests handed to the socket, or waiting for it.
    var sent = 0
    /// Replies, or deliveries.
    var done = 0
    /// Bytes of requests that the socket has not taken yet.
    var unsent = 0
    /// Whether the loop asks for room to write.
    var awaitsRoom = false
    /// Whether it stands in the list of those to be topped up.
    var isQueued = false
}
