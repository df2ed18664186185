/// What a subscription hands on, in the order of the bus.
public enum SubscriptionEvent: Sendable {
    /// States are new, changed or gone. Parts of a split event come as one.
    case change(ChangeEvent)
    /// Nothing changed for this subscription up to this revision.
    case bookmark(revision: Int)
    /// An action was committed.
    case action(ActionEvent)
    /// Actions before this revision are missing; the bus keeps them no longer.
    case gap(revision: Int)
    /// The last event: nil when this side ended it.
    case ended(BusError?)

    /// The revision it stands at; nil at the end.
    public var revision: Int? {
        switch self {
        case .change(let event): event.revision
        case .bookmark(let revision), .gap(let revision): revision
        case .action(let event): event.revision
        case .ended: nil
        }
    }
}
