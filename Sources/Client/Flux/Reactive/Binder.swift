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
    /// Puts the value; false if the target has been released.
    let put: @Sendable (Value) -> Bool

    /// A place in `target`, filled by `apply` on `executor`.
    public init<Target: AnyObject & Sendable>(
        _ target: Target, on executor: FluxExecutor = .immediate,
        _ apply: @escaping @Sendable (Target, Value) -> Void
    ) {
        self.executor = executor
        isAlive = { [weak target] in target != nil }
        put = { [weak target] value in
            guard let target else { return false }
            apply(target, value)
            return true
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
