import BusJSON

/// The effect of one event, or of all parts of a split one, on a mirror.
public struct MirrorChange: Sendable {
    /// One store that the event touched.
    public struct Store: Sendable {
        public let address: String
        /// The state before; nil when the mirror did not hold the store.
        public let old: JSON?
        /// The state after; nil when the store was dropped, or when the mirror can't know it.
        public let new: JSON?
        /// The change as it was sent, in the subscription's format; nil when the whole state came or it was dropped.
        public let patch: JSON?
        public let isDropped: Bool
    }

    /// The revision of the previous event, and of this one.
    public let from: Int
    public let revision: Int
    /// True when everything known before was forgotten.
    public let isReset: Bool
    /// True when the mirror had no first state: a store without an old state need not be a new one.
    public let isPartial: Bool
    /// How many commits were merged into this change; nil when it is exactly one, or not said.
    public let coalesced: Int?
    /// The touched stores in the order of their addresses.
    public let stores: [Store]
}
