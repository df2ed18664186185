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
    @usableFromInline let attach: @Sendable (@escaping @Sendable (Emission<Value>) -> Void) -> Disposable
    /// Whether ``select(_:)-(KeyPath<Value,Part>)`` of this signal, and of what derives from it, leaves equal values in.
    @usableFromInline private(set) var keepsRepeats: Bool
    /// Whether no value equals the one before anyway.
    @usableFromInline let isDistinct: Bool

    @inlinable
    init(
        keepsRepeats: Bool = false, isDistinct: Bool = false,
        attach: @escaping @Sendable (@escaping @Sendable (Emission<Value>) -> Void) -> Disposable
    ) {
        self.keepsRepeats = keepsRepeats
        self.isDistinct = isDistinct
        self.attach = attach
    }

    @usableFromInline
    init(_ emitter: Emitter<Value>, isDistinct: Bool = false) {
        self.init(isDistinct: isDistinct) { emitter.attach($0) }
    }

    /// A signal that delivers `values` to each observer and ends.
    init(saying values: [Value]) {
        self.init { receive in
            for value in values { receive(.value(value)) }
            receive(.end)
            return Disposable {}
        }
    }

    /// The same signal, of whose values none is skipped by itself.
    @usableFromInline
    func keepingRepeats() -> Signal<Value> {
        var signal = self
        signal.keepsRepeats = true
        return signal
    }

    @inlinable public var signal: Signal<Value> { self }
}
