import BusProtocol

/// What a client sends: the lines that are not executed yet, and what is remembered of the last.
///
/// A class, because the buffer is in use while one of its lines is executed.
final class Input {
    /// How the line at hand has come to be executed.
    enum Attempt {
        case first
        /// It had to wait for others, and no longer has to.
        case deferred
        /// It had to wait for a barrier, which is passed.
        case behindBarrier
    }

    @exclusivity(unchecked) private var lines: LineBuffer
    /// The template of its last dispatch.
    @exclusivity(unchecked) private var memory = SenderMemory()
    @exclusivity(unchecked) private(set) var attempt = Attempt.first
    /// The client has finished sending.
    @exclusivity(unchecked) private(set) var hasEnded = false
    /// What `Connections` has counted of it.
    @exclusivity(unchecked) private(set) var countedBytes = 0
    /// Its dispatches that were accepted.
    @exclusivity(unchecked) private(set) var dispatched = 0
    /// When the last bytes came, in milliseconds since 1970.
    @exclusivity(unchecked) private(set) var heardAt: Int

    init(_ limits: DaemonLimits, at now: Int) {
        lines = LineBuffer(longest: limits.line, deepest: limits.depth)
        heardAt = now
    }

    /// How many bytes wait to be executed.
    var heldBytes: Int { lines.heldBytes }
    /// They, and whether they continue a line that is being skipped; for a hand-over.
    var rest: (bytes: ArraySlice<UInt8>, isSkipping: Bool) { lines.rest }

    func adopt(_ limits: DaemonLimits) { lines.limit(longest: limits.line, deepest: limits.depth) }
    func hear(at now: Int) { heardAt = now }
    @inline(__always)
    func noteDispatch() { dispatched &+= 1 }
    func end() { hasEnded = true }
    func clear() { lines.clear() }

    /// Passes on complete lines among new bytes, or keeps the bytes for later.
    @inline(__always)
    func feed(_ bytes: UnsafeRawBufferPointer, _ take: (LineBuffer.Piece) -> Bool) { lines.feed(bytes, take) }
    func hold(_ bytes: UnsafeRawBufferPointer) { lines.hold(bytes) }
    @inline(__always)
    func resume(_ take: (LineBuffer.Piece) -> Bool) { lines.resume(take) }

    /// What was not executed in another daemon.
    func takeOver(_ bytes: UnsafeRawBufferPointer, isSkipping: Bool) {
        lines.takeOver(bytes, isSkipping: isSkipping)
    }

    /// Parses a line.
    @inline(__always)
    func read(_ line: UnsafeRawBufferPointer, with request: RequestReader) throws(RequestError) {
        try request.read(line, from: &memory)
    }

    /// Executes a line once more.
    func retry(_ attempt: Attempt, _ body: () -> Void) {
        self.attempt = attempt
        body()
        self.attempt = .first
    }

    /// What it holds has changed; returns by how much.
    func count() -> Int {
        let growth = heldBytes - countedBytes
        countedBytes += growth
        return growth
    }
}
