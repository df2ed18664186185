extension SignalSource {
    /// Passes each value to `binder`, until disposed of, or until the target or the source is released: a binding to a
    /// target that has gone already is disposed of at once, later the next value ends it.
    ///
    /// Values are put where `binder` says, by default at once on the thread that delivers them; give
    /// ``FluxExecutor/mainThread`` for what belongs to a user interface.
    @discardableResult
    public func bind(to binder: Binder<Value>) -> Disposable {
        let end = DisposableScope()
        if !binder.isAlive() { end.dispose() }
        let binding = observe(on: binder.executor) { value in
            if !binder.put(value) { end.dispose() }
        }
        end.add(binding)
        return binding
    }

    /// Puts each value into a member of `target`, which is held weakly.
    ///
    /// ```swift
    /// store.signal(\.count).bind(to: gauge, \.reading)
    /// ```
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on executor: FluxExecutor = .immediate,
        _ keyPath: ReferenceWritableKeyPath<Target, Value> & Sendable
    ) -> Disposable {
        bind(to: Binder(target, keyPath, on: executor))
    }

    /// Calls `apply` with `target`, which is held weakly, and each value.
    ///
    /// ```swift
    /// store.signal(\.count).bind(to: label) { label, count in label.show("\(count)") }
    /// ```
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on executor: FluxExecutor = .immediate,
        _ apply: @escaping @Sendable (Target, Value) -> Void
    ) -> Disposable {
        bind(to: Binder(target, on: executor, apply))
    }
}
