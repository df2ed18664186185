import Flux

/// Actions that the bus commits to the store later.
extension RemoteStore {
    /// Has the bus dispatch an action to this store later, as the timer of that name, whether or not this process is still
    /// there then. A timer of the same name is set anew, also one that the state's rule has set.
    ///
    /// ```swift
    /// try await lamp.dispatch(.switchOff, after: .seconds(300), timer: "off")
    /// try await lamp.cancelTimer("off")
    /// ```
    ///
    /// It is the same call as a local ``Flux/Store`` has. Throws the bus's refusal: `invalid_payload`, `unknown_store`,
    /// `limit`, …
    @discardableResult
    public func dispatch(
        _ action: State.Action, after delay: Duration, timer: String,
        timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> ScheduledDispatch {
        let (name, payload) = try Bus.coded(action, of: State.self)
        return try await bus.dispatch(
            name, to: .store(address), payload: payload, when: .after(delay), timer: timer, timeout: timeout)
    }

    /// Takes a timer of this store away; returns the commit's revision. Throws `unknown_timer` where it has fired, or was
    /// never set.
    @discardableResult
    public func cancelTimer(
        _ timer: String, timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> Int {
        try await bus.cancel(timer, of: .store(address), timeout: timeout)
    }
}
