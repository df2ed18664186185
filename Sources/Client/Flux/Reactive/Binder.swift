/// A destination for values: a target, held weakly, and how it takes a value.
///
/// ```swift
/// let title = Binder<String>(label, on: .mainThread) { label, text in label.show(text) }
/// store.signal(\.title).bind(to: title)
/// ```
public struct Binder<Value: Sendable>: Sendable {
    let executor: FluxExecutor
    /// Whether the target exists.
    let isAlive: @Sendable () -> Bool
    /// Gives the value to the target, if that exists.
    let put: @Sendable (Value) -> Void

    /// A destination in `target`; `apply` puts values there, on `executor`.
    public init<Target: AnyObject & Sendable>(
        _ target: Target, on executor: FluxExecutor = .immediate,
        _ apply: @escaping @Sendable (Target, Value) -> Void
    ) {
        self.executor = executor
        isAlive = { [weak target] in target != nil }
        put = { [weak target] value in
            if let target { apply(target, value) }
        }
    }

    /// The member of `target` at `keyPath`, set on `executor`.
    public init<Target: AnyObject & Sendable>(
        _ target: Target, _ keyPath: ReferenceWritableKeyPath<Target, Value> & Sendable,
        on executor: FluxExecutor = .immediate
    ) {
        self.init(target, on: executor) { target, value in target[keyPath: keyPath] = value }
    }
}

/// A value that can be read, observed and set, where setting means dispatching: a two-way binding for a control.
///
/// ```swift
/// let volume = store.binding(\.volume) { .setVolume($0) }
/// slider.position = volume.value
/// volume.value = 0.7      // dispatches .setVolume(0.7)
/// ```
public struct Binding<Value: Sendable>: SignalSource {
    private let constant: Constant<Value>
    private let set: @Sendable (Value) -> Void

    /// A binding that reads `constant` and passes new values to `set`.
    public init(_ constant: Constant<Value>, set: @escaping @Sendable (Value) -> Void) {
        self.constant = constant
        self.set = set
    }

    /// The current value. A new value is passed to `set`, and can be read once `set` has changed the source.
    public var value: Value {
        get { constant.value }
        nonmutating set { set(newValue) }
    }

    /// The latest value, then every change.
    public var signal: Signal<Value> { constant.signal }
}

extension SignalSource {
    /// Passes each value to `binder`, until disposed of, or until the target or the source is released. If the target is gone
    /// already, the binding is disposed of at once; if it goes later, the source's next value ends the binding, also where
    /// the part of it that is bound does not change. What came before the source was released is still passed on.
    ///
    /// Values are passed on the binder's executor, by default at once on the thread that delivers them. Use
    /// ``FluxExecutor/mainThread`` for a target that belongs to a user interface. Such a target is held and released on the
    /// main thread only: its binding ends there, with the next value, also where the target was gone from the start.
    @discardableResult
    public func bind(to binder: Binder<Value>) -> Disposable {
        let end = DisposableScope()
        let isWanted: @Sendable () -> Bool = {
            if binder.executor.mayHoldTargets, !binder.isAlive() { end.dispose() }
            return !end.isDisposed
        }
        _ = isWanted()
        // What receives the values holds `end`, too: an end that only the source held would close the binding with it, and
        // what is queued would be lost.
        let binding = signal.on(binder.executor).observe(while: isWanted) { value in
            if isWanted() { binder.put(value) }
        }
        end.add(binding)
        return binding
    }

    /// Assigns each value to a member of `target`, which is held weakly.
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
