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
    /// Whether `select` leaves out a part that equals the previous one, here and in signals derived from this one.
    private(set) var skipsEqualParts = true

    init(
        skipsEqualParts: Bool = true,
        attach: @escaping @Sendable (@escaping @Sendable (Emission<Value>) -> Void) -> Disposable
    ) {
        self.attach = attach
        self.skipsEqualParts = skipsEqualParts
    }

    init(_ emitter: Emitter<Value>) { attach = { emitter.attach($0) } }

    /// A signal that delivers `values` to each observer and ends.
    init(saying values: [Value]) {
        attach = { receive in
            for value in values { receive(.value(value)) }
            receive(.end)
            return Disposable {}
        }
    }

    public var signal: Signal<Value> { self }

    /// The same values; `select` leaves out none.
    var keepingEqualParts: Signal<Value> { Signal(skipsEqualParts: false, attach: attach) }
}
