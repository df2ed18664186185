extension Store {
    /// Puts somebody else in charge of global dispatches, a bus for example: while attached, `Store<State>.actions`
    /// only call `relay`, and the stores commit what comes back through ``StoreAttachment/commit(_:)``.
    ///
    /// ```swift
    /// let attachment = try Store<Counter>.attach { action in network.send(action) }
    /// network.onAction { action in attachment.commit(action) }
    /// ```
    ///
    /// Instance dispatches (`store.actions`) stay local. Throws ``FluxError/relayAttached(state:)`` if there is one
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
