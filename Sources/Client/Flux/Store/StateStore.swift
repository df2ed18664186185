/// What all stores have in common, wherever their state is: a ``Store`` in this process, one on a bus, or a part of either
/// (``AnyStore``). Code that takes one works with each of them.
///
/// ```swift
/// func showTitle(of store: some StateStore<Article>) async throws {
///     store.signal(\.title).observe { print($0) }
///     try await store.dispatch(.open)
///     store.actions.dispatch(.read)            // does not wait
/// }
/// ```
public protocol StateStore<State>: SignalSource where Value == State {
    /// The kind of state that it holds.
    associatedtype State: Flux.State

    /// What a dispatch returns: nothing, or the reply of a bus.
    associatedtype Dispatched: Sendable

    /// A read-only view of the state: the latest first, then every change.
    var constant: Constant<State> { get }

    /// Dispatches to this store without waiting, and keeps it alive.
    var actions: Actions<State> { get }

    /// Dispatches to this store without waiting while it exists, and does not keep it alive; afterwards nothing happens.
    var weakActions: Actions<State> { get }

    /// Actions that could not be committed and for whose outcome no caller waits, and errors of dispatched thunks.
    var failures: Signal<ActionFailure<State>> { get }

    /// Dispatches one action. A ``Store`` returns at once and reports an error by its ``failures``; a store on a bus returns
    /// when the action is committed, and throws why it was not. Code that does not wait uses ``actions``, code that wants the
    /// error of any store `state(after:)`.
    @discardableResult
    func dispatch(_ action: State.Action) async throws -> Dispatched

    /// Dispatches one action after another, each as a separate commit, without waiting for their outcome. If one fails, the others
    /// are still committed.
    func dispatch(_ actions: [State.Action])

    /// Dispatches one action and returns a state that has it, or throws why it was not committed.
    @discardableResult
    func state(after action: State.Action) async throws -> State

    /// Dispatches a list of actions as one commit and returns a state that has it, or throws why none of them was committed.
    @discardableResult
    func state(afterAtomically actions: [State.Action]) async throws -> State

    /// Dispatches a list of actions as one commit, without waiting for its outcome: if one action fails, none of them has
    /// happened.
    func dispatch(atomically actions: [State.Action])

    /// The thunks that are under way for this store.
    var effects: Effects { get }

    /// The objects that this store notifies of its states. Copies and parts of a store share them.
    var subscriptions: Subscriptions { get }
}

extension StateStore {
    /// The latest state, then every change.
    @inlinable public var signal: Signal<State> { constant.signal }

    /// The current state.
    @inlinable public var state: State { constant.value }

    /// The current state, with what is derived from it.
    @inlinable public var computed: Computed<State> { Computed(state) }

    /// One part of the state, read-only. Observers are not notified of a part that equals the
    /// previous one, if it can be compared.
    ///
    /// ```swift
    /// store.signal(\.count).map { "\($0)" }.bind(to: label) { $0.show($1) }
    /// ```
    @inlinable public func signal<Part: Sendable>(_ part: KeyPath<State, Part> & Sendable) -> Constant<Part> {
        constant.select(part)
    }

    /// A value derived from the state, read-only. Observers are not notified of a value that equals the
    /// previous one, if it can be compared.
    ///
    /// ```swift
    /// store.select(\.isEven).observe { show($0) }             // a member of Computed<Counter>
    /// store.select { $0.exceeds(limit) }.bind(to: alarm, \.isOn)
    /// ```
    @inlinable public func select<Part: Sendable>(
        _ part: @escaping @Sendable (Computed<State>) -> Part
    ) -> Constant<Part> {
        constant.select { part(Computed($0)) }
    }

    /// One part of the state as an asynchronous sequence: the current one first, then each change; equal ones are skipped, if
    /// they can be compared.
    ///
    /// ```swift
    /// for await count in store.values(\.count) { show(count) }
    /// ```
    @inlinable public func values<Part: Sendable>(
        _ part: KeyPath<State, Part> & Sendable, buffering: Buffering = .unbounded
    ) -> Values<Part> {
        signal(part).values(buffering: buffering)
    }

    /// A two-way binding to one part of the state: reading reads it, setting dispatches the action that `action` makes
    /// of the new value. It does not keep the store alive.
    public func binding<Part: Sendable>(
        _ part: KeyPath<State, Part> & Sendable, set action: @escaping @Sendable (Part) -> State.Action
    ) -> Binding<Part> {
        let actions = weakActions
        return Binding(signal(part)) { actions.dispatch(action($0)) }
    }

    /// Dispatches one action after another, each as a separate commit, and returns a state that has them. It throws the first
    /// error, after all have been tried.
    @discardableResult
    public func state(after actions: [State.Action]) async throws -> State {
        var state = state
        var failure: (any Error)?
        for action in actions {
            do { state = try await self.state(after: action) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return state
    }
}
