/// Where a `Bus` stands.
public enum BusStatus: Sendable, Equatable {
    /// The first connection is being made.
    case connecting
    case connected
    /// The connection was lost for `error`; the given attempt, counted from 1, is due or under way.
    case reconnecting(attempt: Int, error: BusError)
    /// It ended: by `close`, or for an error that trying again does not help.
    case closed(BusError?)
}
