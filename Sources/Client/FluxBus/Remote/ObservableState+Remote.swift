import BusTypes
import Flux

extension ObservableState where State: SharedState {
    /// The state of a store on the bus for user interfaces: what holds a store of this process and what holds one of the bus
    /// look alike. It shows what ``RemoteStore/state`` does, and keeps the store, which is followed as long.
    ///
    /// ```swift
    /// let kitchen = ObservableState(try await bus.store("kitchen", of: Counter.self))
    /// kitchen.count                // who reads it is notified when it changes, by whichever process
    /// kitchen.actions.increment()
    /// ```
    ///
    /// For the connection there is `ObservableValue(store.status)`.
    public convenience init(_ store: RemoteStore<State>) {
        self.init(store.constant, actions: store.actions, keeping: store)
    }
}
