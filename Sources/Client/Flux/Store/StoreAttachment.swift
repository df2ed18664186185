/// A relay's attachment to a state type, from ``Store/attach(_:)`` until ``detach()`` or until it is released.
public final class StoreAttachment<State: Flux.State>: Sendable {
    private let lane: Lane<State>
    private let number: UInt64

    init(lane: Lane<State>, number: UInt64) {
        self.lane = lane
        self.number = number
    }

    deinit { detach() }

    /// Commits an action to every living store, in the order of their creation and in the one order of the state type.
    /// Nothing happens after ``detach()``.
    ///
    /// Whoever has committed the action first also has its timers, so it sets none here (``State/timers``), and takes those
    /// away that it would have set.
    public func commit(_ action: State.Action) { lane.placeInAll(action, byRelay: number) }

    /// Returns `Store<State>.actions` to the stores. Further calls do nothing.
    public func detach() { lane.detach(number) }
}

extension Store {
    /// Puts a relay in charge of global dispatches, a bus for example: while attached, `Store<State>.actions` only call
    /// `relay`, and the stores commit what comes back through ``StoreAttachment/commit(_:)``.
    ///
    /// ```swift
    /// let attachment = try Store<Counter>.attach { action in network.send(action) }
    /// network.onAction { action in attachment.commit(action) }
    /// ```
    ///
    /// Instance dispatches (`store.actions`) stay local, and so do their timers. Throws ``FluxError/relayAttached(state:)`` if there is one
    /// already.
    public static func attach(
        _ relay: @escaping @Sendable (State.Action) -> Void
    ) throws(FluxError) -> StoreAttachment<State> {
        let lane = Lane<State>.shared
        guard let number = lane.attach(relay) else {
            throw .relayAttached(state: String(describing: State.self))
        }
        return StoreAttachment(lane: lane, number: number)
    }
}
