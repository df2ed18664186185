import BusEngine

/// Measures replies, one at a time: from the moment a client's bytes are read until what they made the bus write for that
/// client is in its socket. To look at one of them costs next to nothing, and to look at all of them much.
struct ReplyProbe {
    /// The connection that is followed, and how much must have been written to it.
    private var followed: (id: ConnectionID, through: Int)?
    private var began = 0

    /// Bytes of a client, read at `now`, in nanoseconds, were executed: its output grew from `before` to `after`, counted from
    /// its beginning.
    mutating func executed(_ id: ConnectionID, before: Int, after: Int, readAt now: Int) {
        guard followed == nil, after > before else { return }
        followed = (id, after)
        began = now
    }

    /// Whether a connection is followed.
    func follows(_ id: ConnectionID) -> Bool { followed?.id == id }

    var isIdle: Bool { followed == nil }

    /// So much was sent to a connection that is followed; returns how long the reply took, once all of it is.
    mutating func sent(_ total: Int, now: Int) -> Int? {
        guard let through = followed?.through, total >= through else { return nil }
        followed = nil
        return now - began
    }

    /// A connection is gone.
    mutating func forget(_ id: ConnectionID) { if follows(id) { followed = nil } }
}
