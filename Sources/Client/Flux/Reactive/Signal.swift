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
    let attach: @Sendable (@escaping @Sendable (Emission<Value>) -> Void) -> Disposable
    /// Whether ``select(_:)-(KeyPath<Value,Part>)`` of this signal, and of what derives from it, leaves equal values in.
    private(set) var keepsRepeats: Bool

    init(
        keepsRepeats: Bool = false,
        attach: @escaping @Sendable (@escaping @Sendable (Emission<Value>) -> Void) -> Disposable
    ) {
        self.keepsRepeats = keepsRepeats
        self.attach = attach
    }

    init(_ emitter: Emitter<Value>) { self.init { emitter.attach($0) } }

    /// A signal that delivers `values` to each observer and ends.
    init(saying values: [Value]) {
        self.init { receive in
            for value in values { receive(.value(value)) }
            receive(.end)
            return Disposable {}
        }
    }

    /// The same signal, of whose values none is skipped by itself.
    func keepingRepeats() -> Signal<Value> {
        var signal = self
        signal.keepsRepeats = true
        return signal
    }

    public var signal: Signal<Value> { self }
}
