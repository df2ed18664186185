/// A value that can be set and observed: an observer receives the latest one first and then every change, without gap
/// or duplicate, whatever happens on other threads.
///
/// ```swift
/// let temperature = Variable(20)
/// temperature.observe { show($0) }   // 20
/// temperature.value = 21             // 21
/// ```
///
/// Pass a ``constant`` to code that may only read.
public final class Variable<Value: Sendable>: SignalSource {
    private let emitter: Emitter<Value>

    public init(_ value: Value) { emitter = Emitter(value) }

    deinit { emitter.finish() }

    /// The latest value. Setting it notifies the observers, also of an equal value; see ``Signal/skipRepeats()``.
    public var value: Value {
        get { emitter.latest }
        set { emitter.send(newValue) }
    }

    /// Changes the value in place: no other change comes between reading and writing.
    /// `change` must not use this variable.
    public func modify<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) {
        _ = try emitter.modify(change)
    }

    /// Sets the value without notifying observers yet, for callers that hold a lock; `deliver` notifies them.
    package func put(_ value: Value) { emitter.put(value) }

    /// Notifies the observers of the value set by `put`.
    package func deliver() { emitter.deliver() }

    /// Ends the source: no value will follow.
    package func finish() { emitter.finish() }

    /// The latest value, then every change.
    public var signal: Signal<Value> { Signal(emitter) }

    /// A read-only view of the variable.
    public var constant: Constant<Value> {
        Constant(signal: signal) { [emitter] in emitter.latest }
    }
}
