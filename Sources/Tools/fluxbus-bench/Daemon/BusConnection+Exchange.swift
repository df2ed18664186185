import FluxBus

extension BusConnection {
    /// How many requests are in flight at once: enough that waiting costs nothing.
    private static let requestsPerPiece = 1024

    /// Sends that many requests, pipelined, and takes their replies. Throws the first error among them.
    func exchange(_ count: Int, patience: Duration, _ request: (Int) -> BusRequest) throws(BusError) {
        for start in stride(from: 0, to: count, by: Self.requestsPerPiece) {
            let piece = start..<min(start + Self.requestsPerPiece, count)
            for number in piece { queue(request(number)) }
            let deadline = Deadline(after: patience)
            try flush(until: deadline)
            var replies = 0
            while replies < piece.count {
                guard case .reply(let reply) = try BusMessage(parsing: receiveLine(until: deadline)) else {
                    continue
                }
                guard reply["ok"] == true else { throw BusError(reply: reply["error"]) }
                replies += 1
            }
        }
    }
}
