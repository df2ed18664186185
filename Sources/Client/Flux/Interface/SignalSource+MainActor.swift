/// Observing on the main actor: closures may use what belongs to it, without any assumption.
///
/// The first value comes at once, before `observe` returns, unless work is waiting for the main thread; later ones come on the main
/// thread, at once if they are made there and nothing waits, else through its queue.
extension SignalSource {
    /// Calls `observer` with each value on the main actor, in order. After disposal nothing is delivered, even if it was queued.
    ///
    /// ```swift
    /// store.signal(\.count).observe(on: MainActor.shared) { label.text = "\($0)" }
    /// ```
    @MainActor
    @discardableResult
    public func observe(
        on actor: MainActor, _ observer: @escaping @MainActor (Value) -> Void
    ) -> Disposable {
        observe(on: .mainThread, Self.onMainActor(observer))
    }

    /// Calls `observer` with each value on the main actor until `scope` ends.
    @MainActor
    @discardableResult
    public func observe(
        until scope: DisposableScope, on actor: MainActor, _ observer: @escaping @MainActor (Value) -> Void
    ) -> Disposable {
        observe(until: scope, on: .mainThread, Self.onMainActor(observer))
    }

    /// Puts each value into a member of `target`, on the main actor. The target is held weakly.
    ///
    /// ```swift
    /// store.signal(\.title).bind(to: label, on: MainActor.shared, \.text)
    /// ```
    @MainActor
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on actor: MainActor, _ keyPath: ReferenceWritableKeyPath<Target, Value>
    ) -> Disposable {
        bind(to: Binder(target, on: actor) { target, value in target[keyPath: keyPath] = value })
    }

    /// Calls `apply` with `target`, which is held weakly, and each value, on the main actor.
    @MainActor
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on actor: MainActor, _ apply: @escaping @MainActor (Target, Value) -> Void
    ) -> Disposable {
        bind(to: Binder(target, on: actor, apply))
    }

    /// A closure for ``FluxExecutor/mainThread``, which calls on the main actor's own executor.
    private static func onMainActor(
        _ observer: @escaping @MainActor (Value) -> Void
    ) -> @Sendable (Value) -> Void {
        { value in MainActor.assumeIsolated { observer(value) } }
    }
}

extension Binder {
    /// A place in `target`, filled by `apply` on the main actor.
    ///
    /// ```swift
    /// let title = Binder<String>(label, on: MainActor.shared) { label, text in label.text = text }
    /// ```
    @MainActor
    public init<Target: AnyObject & Sendable>(
        _ target: Target, on actor: MainActor, _ apply: @escaping @MainActor (Target, Value) -> Void
    ) {
        self.init(target, on: .mainThread) { target, value in
            MainActor.assumeIsolated { apply(target, value) }
        }
    }
}
