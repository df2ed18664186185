/// A request that has been written, and what is needed to write it again.
struct SentRequest {
    let submission: Submission
    /// Its `id` on the present connection.
    var id = 0
    /// Where its line ends, counted in bytes from the beginning of the present connection.
    var end = 0
    /// The number in its key; 0 when it has none.
    var key = 0
    /// What the client had seen when it first wrote the request.
    var after = 0
    var epoch = ""
    /// Whether a connection before this one may have brought it to the bus.
    var isRepeated = false
}
