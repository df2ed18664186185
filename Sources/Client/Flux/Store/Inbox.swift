import Synchronization

/// The queue of a store: what is still to be committed, in the order of dispatch.
@usableFromInline
final class Inbox<State: Flux.State>: Sendable {
    /// An entry at its place.
    @usableFromInline
    struct Placed: Sendable {
        @usableFromInline let ticket: UInt64
        @usableFromInline let entry: Entry<State>

        @inlinable
        init(ticket: UInt64, entry: Entry<State>) {
            self.ticket = ticket
            self.entry = entry
        }
    }

    @usableFromInline
    struct Contents {
        @usableFromInline var line = FirstInFirstOut<Placed>()
        @usableFromInline var isClosed = false

        @inlinable
        init() {}
    }

    @usableFromInline let contents = Mutex(Contents())

    @inlinable
    init() {}

    /// Appends an entry; false if the inbox is closed.
    @inlinable
    func append(_ entry: Entry<State>, ticket: UInt64) -> Bool {
        contents.withLock { contents in
            if contents.isClosed { return false }
            contents.line.append(Placed(ticket: ticket, entry: entry))
            return true
        }
    }

    /// The next entry whose place is at most `ticket`.
    @inlinable
    func next(through ticket: UInt64) -> Placed? {
        contents.withLock { contents in
            guard let first = contents.line.first, first.ticket <= ticket else { return nil }
            return contents.line.popFirst()
        }
    }

    /// Closes the inbox, and returns the entries that will not be committed.
    func close() -> [Entry<State>] {
        contents.withLock { contents in
            contents.isClosed = true
            var left: [Entry<State>] = []
            while let placed = contents.line.popFirst() { left.append(placed.entry) }
            return left
        }
    }
}
