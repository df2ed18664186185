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

    /// The values sent from now on.
    public var signal: Signal<Value> { Signal(emitter) }

    /// Notifies all observers. If a delivery is under way, also by an observer itself, this value follows it.
    public func send(_ value: Value) { emitter.send(value) }
}
