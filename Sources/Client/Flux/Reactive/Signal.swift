/// A stream of values that can be observed: its observers are notified of each value as it comes.
///
/// ```swift
/// let taps = Sink<Int>()
/// taps.signal
///     .map { $0 * 2 }
///     .skipRepeats()
///     .observe { show($0) }
/// ```
///
/// For one observer, values come one at a time and in order. Several observers of one source are notified of a value in
/// the order of their registration. Each observation of a derived signal has its own memory (of the last value, say).
public struct Signal<Value: Sendable>: SignalSource {
    /// Registers an observer. `isWanted`, if there is one, is asked about each value of the source, before anything is
    /// derived from it.
    @usableFromInline
    typealias Attach =
        @Sendable (
            _ isWanted: (@Sendable () -> Bool)?, _ receive: @escaping @Sendable (Emission<Value>) -> Void
        ) -> Disposable

    @usableFromInline let attach: Attach
    /// Whether ``select(_:)-(KeyPath<Value,Part>)`` keeps repeated values, here and in signals that derive from this one.
    @usableFromInline private(set) var keepsRepeats: Bool
    /// Whether no value can equal the one before.
    @usableFromInline let isDistinct: Bool

    @inlinable
    init(keepsRepeats: Bool = false, isDistinct: Bool = false, attach: @escaping Attach) {
        self.keepsRepeats = keepsRepeats
        self.isDistinct = isDistinct
        self.attach = attach
    }

    @usableFromInline
    init(_ emitter: Emitter<Value>, isDistinct: Bool = false) {
        self.init(isDistinct: isDistinct) { emitter.attach($0, $1) }
    }

    /// This signal, which keeps repeated values.
    @usableFromInline
    func keepingRepeats() -> Signal<Value> {
        var signal = self
        signal.keepsRepeats = true
        return signal
    }

    @inlinable public var signal: Signal<Value> { self }
}

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
        signal.attach(nil) { emission in
            if case .value(let value) = emission { observer(value) }
        }
    }

    /// Calls `observer` with each value for which `isWanted` holds when the source delivers it.
    @usableFromInline
    func observe(
        while isWanted: @escaping @Sendable () -> Bool, _ observer: @escaping @Sendable (Value) -> Void
    ) -> Disposable {
        signal.attach(isWanted) { emission in
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

    /// The values as an asynchronous sequence; `buffering` says which values are kept for a slower loop.
    public func values(buffering: Buffering) -> Values<Value> {
        Values(signal: signal, buffering: buffering)
    }
}

/// A source that keeps nothing: observers registered when a value is sent receive it, later ones do not.
///
/// ```swift
/// let alarms = Sink<String>()
/// alarms.signal.observe { log($0) }
/// alarms.send("It is freezing.")
/// ```
///
/// Its streams end when the sink is released.
public final class Sink<Value: Sendable>: SignalSource {
    private let emitter = Emitter<Value>()

    public init() {}

    deinit { emitter.finish() }

    /// Ends the source: nothing will follow.
    package func finish() { emitter.finish() }

    /// Notifies all observers of a value, and each later one when it comes.
    func keep(_ value: Value) { emitter.keep(value) }

    /// The values sent from now on.
    public var signal: Signal<Value> { Signal(emitter) }

    /// Notifies all observers. If a delivery is under way, also by an observer itself, this value follows it.
    public func send(_ value: Value) { emitter.send(value) }
}
