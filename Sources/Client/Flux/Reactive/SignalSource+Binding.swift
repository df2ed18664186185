extension SignalSource {
    /// Passes each value to `binder`, until disposed of, or until the target or the source is released. A binding to a target
    /// that is gone is disposed of at once; one whose target goes later, with the next value.
    @discardableResult
    public func bind(to binder: Binder<Value>) -> Disposable {
        if binder.isGone() {
            let over = Disposable {}
            over.dispose()
            return over
        }
        let end = DisposableScope()
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
        to target: Target, on executor: Executor = .immediate,
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
        to target: Target, on executor: Executor = .immediate,
        _ apply: @escaping @Sendable (Target, Value) -> Void
    ) -> Disposable {
        bind(to: Binder(target, on: executor, apply))
    }
}
