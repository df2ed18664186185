extension StateStore {
    /// Notifies `subscriber` of the latest state and of every new one, until it is released or
    /// unsubscribed, or the store is released.
    ///
    /// A subscriber has one subscription per store: a second one replaces the first. Subscribing and
    /// unsubscribing is safe anywhere, also while the store notifies its subscribers. `skipsRepeats` leaves equal
    /// states out, if they can be compared; a ``Store`` with `skipsEqualStates` never sends any.
    @inlinable
    public func subscribe<Subscriber: StoreSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true
    ) where Subscriber.Selection == State {
        subscribe(subscriber, skipsRepeats: skipsRepeats) { $0 }
    }

    /// Notifies `subscriber` of what `selection` makes of the states. Without `skipsRepeats`, `select` skips nothing
    /// either; what `selection` skips explicitly stays skipped.
    ///
    /// ```swift
    /// store.subscribe(view) { $0.select(\.todos).skip(when: { $0.count == $1.count }) }
    /// ```
    @inlinable
    public func subscribe<Subscriber: StoreSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true,
        _ selection: (Signal<State>) -> Signal<Subscriber.Selection>
    ) {
        subscribe(subscriber, skipsRepeats: skipsRepeats, selection) { $0.newState($1) }
    }

    /// Passes what `selection` makes of the states to `tell`, on `executor` if there is one. The first state after the
    /// subscriber's release ends that, before anything is made of it; with ``FluxExecutor/mainThread``, the first one that comes
    /// or arrives there.
    @inlinable
    func subscribe<Subscriber: AnyObject & Sendable, Selection: Sendable>(
        _ subscriber: Subscriber, skipsRepeats: Bool, on executor: FluxExecutor? = nil,
        _ selection: (Signal<State>) -> Signal<Selection>,
        _ tell: @escaping @Sendable (Subscriber, Selection) -> Void
    ) {
        let selected = selection(skipsRepeats ? signal : signal.keepingRepeats())
        let name = subscriptions.name(of: ObjectIdentifier(subscriber))
        let scope = subscriptions.begin(name)
        let told = skipsRepeats ? selected.skippingEqualValues() : selected
        let delivered = executor.map { told.on($0) } ?? told
        let isWanted: @Sendable () -> Bool = { [weak subscriber, weak table = subscriptions.table] in
            if let executor, !executor.mayHoldTargets { return true }
            if subscriber != nil { return true }
            table?.end(name, scope)
            return false
        }
        let observation = delivered.observe(while: isWanted) { [weak subscriber] state in
            // The first call comes before the observation is in the scope, and may end it.
            if !scope.isDisposed, isWanted(), let subscriber { tell(subscriber, state) }
        }
        scope.add(observation)
    }

    /// Ends the subscription of `subscriber`: no call begins after this.
    public func unsubscribe(_ subscriber: some StoreSubscriber) {
        subscriptions.end(ObjectIdentifier(subscriber))
    }

    /// How many subscriptions there are.
    package var subscriberCount: Int { subscriptions.count }
}

/// An object that a store notifies of new states, or of a selection of them. It is held weakly.
///
/// ```swift
/// final class Thermometer: StoreSubscriber {
///     func newState(_ celsius: Int) { show(celsius) }
/// }
/// store.subscribe(thermometer) { $0.select(\.celsius) }
/// ```
public protocol StoreSubscriber<Selection>: AnyObject, Sendable {
    /// The values it receives: the state, or a part of it.
    associatedtype Selection: Sendable

    /// Called with the latest selection at once, and then with each new one.
    func newState(_ state: Selection)
}
