/// An object of the main actor that a store notifies of new states, or of a selection of them. It is held weakly.
///
/// ```swift
/// final class CounterController: MainActorSubscriber {
///     func newState(_ count: Int) { label.text = "\(count)" }
/// }
/// store.subscribe(controller) { $0.select(\.count) }
/// ```
@MainActor
public protocol MainActorSubscriber<Selection>: AnyObject, Sendable {
    /// The values it receives: the state, or a part of it.
    associatedtype Selection: Sendable

    /// Called with the latest selection, and then with each new one.
    func newState(_ state: Selection)
}

extension StateStore {
    /// Notifies `subscriber` of the latest state and of every new one on the main actor, until it is released or unsubscribed, or
    /// the store is released. Otherwise as a ``StoreSubscriber`` is.
    @MainActor
    public func subscribe<Subscriber: MainActorSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true
    ) where Subscriber.Selection == State {
        subscribe(subscriber, skipsRepeats: skipsRepeats) { $0 }
    }

    /// Notifies `subscriber` of what `selection` makes of the states, on the main actor.
    @MainActor
    public func subscribe<Subscriber: MainActorSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true,
        _ selection: (Signal<State>) -> Signal<Subscriber.Selection>
    ) {
        subscribe(
            ObjectIdentifier(subscriber), skipsRepeats: skipsRepeats, on: .mainThread, selection
        ) { [weak subscriber] state in
            guard let subscriber else { return false }
            MainActor.assumeIsolated { subscriber.newState(state) }
            return true
        }
    }

    /// Ends the subscription of `subscriber`: no call begins after this.
    public func unsubscribe(_ subscriber: some MainActorSubscriber) {
        subscriptions.end(ObjectIdentifier(subscriber))
    }
}
