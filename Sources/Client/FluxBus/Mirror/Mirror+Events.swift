import BusJSON

/// A mirror kept by a subscription's events, which come whole.
extension Mirror {
    /// Applies an event of a subscription. Gives what changed, or nil when it changes no states.
    public mutating func fold(_ event: SubscriptionEvent) throws(BusError) -> MirrorChange? {
        switch event {
        case .change(let change): try fold(change.object)
        case .bookmark(let revision): try fold(["event": "bookmark", "revision": .int(revision)])
        case .action, .gap, .ended: nil
        }
    }
}
