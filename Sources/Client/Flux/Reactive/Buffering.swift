/// What an asynchronous sequence keeps for a loop that is slower than its source.
public enum Buffering: Sendable {
    /// Everything. It grows as long as the loop is slower.
    case unbounded
    /// The newest values up to this number, at least one; older ones are left out.
    case newest(Int)
}
