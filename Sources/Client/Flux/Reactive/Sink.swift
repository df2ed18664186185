/// A source that keeps nothing: whoever observes when a value is sent gets it, and nobody later.
///
/// ```swift
/// let alarms = Sink<String>()
/// alarms.signal.observe { log($0) }
/// alarms.send("It is freezing.")
/// ```
///
/// Its streams end when the sink goes.
public final class Sink<Value: Sendable>: SignalSource {
    private let emitter = Emitter<Value>()

    public init() {}

    deinit { emitter.finish() }

    /// Says that nothing will follow.
    package func finish() { emitter.finish() }

    /// What is sent from now on.
    public var signal: Signal<Value> { Signal(emitter) }

    /// Tells all observers. If somebody is telling them something already, also an observer itself, this comes next.
    public func send(_ value: Value) { emitter.send(value) }
}
