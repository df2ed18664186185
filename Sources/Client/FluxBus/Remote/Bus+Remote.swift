import BusJSON
import BusTypes
import Flux

/// Stores of Swift types on the bus.
extension Bus {
    /// Follows a store of a Swift state type.
    ///
    /// ```swift
    /// let kitchen = try await bus.store("kitchen", of: Counter.self)
    /// let hall = try await bus.store("hall", of: Counter.self, creating: Counter())
    /// ```
    ///
    /// - Parameters:
    ///   - name: The part of its address after the slash; the other is the type's name.
    ///   - type: The Swift type of its state.
    ///   - initial: Creates the store with this state if it does not exist; also when a bus without a log has been
    ///     restarted and has lost it, but not when somebody has dropped it.
    ///   - isEphemeral: A store created here is dropped when this program goes, as a will is applied (``setWill(_:timeout:)``).
    ///   - isOptimistic: Shows actions dispatched here before the bus has committed them; see ``RemoteStore``.
    /// - Throws: `unknown_store` if there is none and none is to be created, `unknown_type`, `unfit_state` if its state
    ///   can't be read as the Swift type.
    public func store<State: SharedState>(
        _ name: String, of type: State.Type = State.self, creating initial: State? = nil,
        isEphemeral: Bool = false, isOptimistic: Bool = false
    ) async throws(BusError) -> RemoteStore<State> {
        let address = "\(State.typeName)/\(name)"
        let core = RemoteStoreCore<State>(address: address, isOptimistic: isOptimistic) { [core] in
            core.epoch
        }
        var options = SubscriptionOptions()
        if let initial {
            let state = try Self.members(of: initial)
            try await create(address, state: state, isEphemeral: isEphemeral, ifMissing: true)
            // The client itself restores what goes with its connection.
            if !isEphemeral {
                options.creation = .init(store: address, state: state) { error in
                    core.report(ActionFailure(actions: [], error: error))
                }
            }
        }
        let subscription = try await subscribe(to: .store(address), options: options) { core.take($0) }
        // The first event comes directly after the subscription's reply, so a later reply comes after both.
        if !core.hasFirst { try await sync() }
        switch core.status.value {
        case .live: return RemoteStore(bus: self, core: core, subscription: subscription)
        case .absent:
            throw BusError(
                .unknownStore,
                "There is no store \(address); create it, or give its first state as `creating`.")
        case .unfit(let error): throw error
        case .ended(let error): throw error ?? BusCore.closed
        }
    }

    /// Follows all stores of a Swift state type, including those created later.
    ///
    /// ```swift
    /// let people = try await bus.stores(of: Person.self)
    /// for await everybody in people.values { show(everybody.keys) }
    /// ```
    public func stores<State: SharedState>(
        of type: State.Type = State.self
    ) async throws(BusError) -> RemoteStores<State> {
        let core = RemoteStoresCore<State>()
        let subscription = try await subscribe(to: .type(State.typeName)) { core.take($0) }
        // The first event comes directly after the subscription's reply, so a later reply comes after both.
        if !core.hasFirst { try await sync() }
        return RemoteStores(bus: self, core: core, subscription: subscription)
    }

    /// Dispatches an action to every store of its type on the bus. Returns when it is committed.
    @discardableResult
    public func dispatch<State: SharedState>(
        _ action: State.Action, toAll type: State.Type, timeout: TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        let (name, payload) = try Self.coded(action, of: type)
        return try await dispatch(name, to: .type(State.typeName), payload: payload, timeout: timeout)
    }

    /// Actions to every store of a type on the bus, for callers that do not wait. `onFailure` is called with each
    /// failure, on the bus's thread; it must not block. From an observer of a replay they are ignored (see `Recorder`).
    public func actions<State: SharedState>(
        of type: State.Type, onFailure: @escaping @Sendable (BusError) -> Void = { _ in }
    ) -> Actions<State> {
        Actions { [self] action in
            if Replaying.isUnderWay { return }
            do throws(BusError) {
                let (name, payload) = try Self.coded(action, of: type)
                postDispatch(name, to: .type(State.typeName), payload: payload) { outcome in
                    if case .failure(let error) = outcome { onFailure(error) }
                }
            } catch {
                onFailure(error)
            }
        }
    }

    // MARK: - Coding

    static func coded<State: SharedState>(
        _ action: State.Action, of type: State.Type
    ) throws(BusError) -> (name: String, payload: JSONObject) {
        do throws(JSONCodingError) {
            return try State.actions.encoded(action)
        } catch {
            throw BusError(.invalidPayload, "\(error)")
        }
    }

    static func members<State: SharedState>(of state: State) throws(BusError) -> JSONObject {
        do {
            return try state.encodedMembers()
        } catch {
            throw BusError(.invalidPayload, "The state of a new \(State.typeName) can't be encoded: \(error)")
        }
    }
}
