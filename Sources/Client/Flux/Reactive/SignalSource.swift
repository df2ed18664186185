/// Anything that can be observed: a ``Signal``, a ``Sink``, a ``Variable``, a ``Constant``, a ``Store``.
///
/// All ways of observing are defined here, once, in terms of the signal.
public protocol SignalSource<Value>: Sendable {
    /// The values that its observers receive.
    associatedtype Value: Sendable

    /// Its values as a signal.
    var signal: Signal<Value> { get }
}

extension SignalSource {
    /// Calls `observer` with each value, on the thread that delivers it, until disposed of or
    /// until the source is released.
    ///
    /// A dispatch from an observer takes its place in the order at once and is executed after the observers have been
    /// notified; so all of them see the same values in the same order.
    @inlinable
    @discardableResult
    public func observe(_ observer: @escaping @Sendable (Value) -> Void) -> Disposable {
        signal.attach { emission in
            if case .value(let value) = emission { observer(value) }
        }
    }

    /// Calls `observer` with each value, on `executor`, in order. After disposal nothing is
    /// delivered, even if it was queued.
    ///
    /// ```swift
    /// store.signal.observe(on: .mainThread) { label.show($0.count) }
    /// ```
    @inlinable
    @discardableResult
    public func observe(
        on executor: FluxExecutor, _ observer: @escaping @Sendable (Value) -> Void
    ) -> Disposable {
        signal.on(executor).observe(observer)
    }

    /// Calls `observer` with each value until `scope` ends.
    @inlinable
    @discardableResult
    public func observe(
        until scope: DisposableScope, on executor: FluxExecutor = .immediate,
        _ observer: @escaping @Sendable (Value) -> Void
    ) -> Disposable {
        let disposable = observe(on: executor) { [weak scope] value in
            // The first calls come before the observation is in the scope, and may end it.
            if let scope, !scope.isDisposed { observer(value) }
        }
        scope.add(disposable)
        return disposable
    }

    /// The values as an asynchronous sequence that loses none; see ``Values``.
    public var values: Values<Value> { values(buffering: .unbounded) }

    /// The values as an asynchronous sequence; `buffering` says what is kept for a loop that is slower.
    public func values(buffering: Buffering) -> Values<Value> {
        Values(signal: signal, buffering: buffering)
    }
}
