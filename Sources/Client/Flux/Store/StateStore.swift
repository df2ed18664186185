/// What all stores have in common, wherever their state is: a ``Store`` in this process, one on a bus, or a part of either
/// (``AnyStore``). Code that takes one works with each of them.
///
/// ```swift
/// func showTitle(of store: some StateStore<Article>) {
///     store.signal(\.title).observe { print($0) }
///     store.actions.open()
/// }
/// ```
///
/// When a dispatch returns is different: that of a ``Store`` at once, that of a store on a bus with the commit. ``actions`` never wait.
public protocol StateStore<State>: SignalSource where Value == State {
    /// The kind of state that it holds.
    associatedtype State: Flux.State

    /// A read-only view of the state: the latest first, then every change.
    var constant: Constant<State> { get }

    /// Dispatches to this store. They keep it alive.
    var actions: Actions<State> { get }

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

    /// The objects that this store notifies of its states.
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
}
