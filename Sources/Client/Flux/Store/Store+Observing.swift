extension Store {
    /// A read-only view of the state: the latest first, then every change.
    @inlinable public var constant: Constant<State> {
        Constant(signal: signal) { [emitter = core.emitter] in emitter.latest }
    }

    /// The latest state, then every change.
    @inlinable public var signal: Signal<State> { Signal(core.emitter, isDistinct: core.skipsEqualStates) }

    /// One part of the state, read-only. Observers are not notified of a part that equals the
    /// previous one, if it can be compared.
    ///
    /// ```swift
    /// store.signal(\.count).map { "\($0)" }.bind(to: label) { $0.show($1) }
    /// ```
    @inlinable
    public func signal<Part: Sendable>(_ part: KeyPath<State, Part> & Sendable) -> Constant<Part> {
        constant.select(part)
    }

    /// A value derived from the state, read-only. Observers are not notified of a value that equals the
    /// previous one, if it can be compared.
    ///
    /// ```swift
    /// store.select(\.isEven).observe { show($0) }             // a member of Computed<Counter>
    /// store.select { $0.exceeds(limit) }.bind(to: alarm, \.isOn)
    /// ```
    @inlinable
    public func select<Part: Sendable>(
        _ part: @escaping @Sendable (Computed<State>) -> Part
    ) -> Constant<Part> {
        constant.select { part(Computed($0)) }
    }

    /// One part of the state as an asynchronous sequence: the current one first, then each change.
    ///
    /// ```swift
    /// for await count in store.values(\.count) { show(count) }
    /// ```
    public func values<Part: Sendable>(
        _ part: KeyPath<State, Part> & Sendable, buffering: Buffering = .unbounded
    ) -> Values<Part> {
        signal(part).values(buffering: buffering)
    }
}
