/// A connection's number in the engine; reused after `disconnect`.
package typealias ConnectionID = Int

/// A piece of output, laid out as the C library's `iovec`.
package struct OutputPiece {
    package var base: UnsafeRawPointer?
    package var count: Int

    package init(base: UnsafeRawPointer?, count: Int) {
        self.base = base
        self.count = count
    }
}

/// What the owner of a socket should do with it now.
package enum ConnectionStatus: Sendable {
    /// Read more when there is more.
    case reading
    /// Its outbox is full or it has unfinished business: don't read, only write.
    case blocked
    /// Write what is left, then close the socket and call `disconnect`.
    case closing
}
