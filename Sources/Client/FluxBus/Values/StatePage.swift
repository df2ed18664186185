import BusJSON

/// Some of the states that were asked for.
public struct StatePage: Sendable, Equatable {
    /// The revision that the states are of.
    public let revision: Int
    /// States by address.
    public let states: JSONObject
    /// The address to go on after; nil when this is the last page.
    public let next: String?
}
