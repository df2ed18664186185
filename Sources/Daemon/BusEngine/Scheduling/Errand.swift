/// Something that waits for its turn.
enum Errand {
    /// A connection that has lines to be carried out, something to be told, or a read that goes on.
    case serve(Connection)
    /// The next of those whose peers are gone, and that have sent something before.
    case serveLost
    /// A connection that is gone: its will, and the drops of its stores.
    case end(Connection)
    /// Subscriber groups that nobody is in any more leave the stores they were in.
    case sweep
}
