/// How a remote store stands to the bus.
public enum RemoteStoreStatus: Sendable, Equatable {
    /// It follows the bus. While the connection is lost it still says so: it goes on where it was, as `bus.status` tells.
    case live
    /// The bus has no such store now: it was dropped, or an ephemeral one has gone. The last state stays readable; if
    /// the store is made again, it goes on.
    case absent
    /// The bus tells a state that does not fit the Swift type. The last one that did stays readable.
    case unfit(BusError)
    /// It follows no more: the bus was closed, or refuses to go on, for this reason.
    case ended(BusError?)
}
