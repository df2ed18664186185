/// A value that can be set and observed: an observer gets the latest one first and then every change, without gap or
/// duplicate, whatever happens on other threads.
///
/// ```swift
/// let temperature = Variable(20)
/// temperature.observe { show($0) }   // 20
/// temperature.value = 21             // 21
/// ```
///
/// Hand a ``constant`` to those who may only look.
public final class Variable<Value: Sendable>: SignalSource {
    private let emitter: Emitter<Value>

    public init(_ value: Value) { emitter = Emitter(value) }

    deinit { emitter.finish() }

    /// The latest value. Setting it tells the observers, also of an equal value; see ``Signal/skipRepeats()``.
    public var value: Value {
        get { emitter.latest }
        set { emitter.send(newValue) }
    }

    /// Changes the value in place: no other change comes between reading and writing. `change` must not use this variable.
    public func modify<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) {
        _ = try emitter.modify(change)
    }

    /// Takes a value over without telling anybody yet, for callers that hold a lock; `deliver` tells.
    package func put(_ value: Value) { emitter.put(value) }

    /// Tells the observers what was put.
    package func deliver() { emitter.deliver() }

    /// Says that no value will follow.
    package func finish() { emitter.finish() }

    /// The latest value, then every change.
    public var signal: Signal<Value> { Signal(emitter) }

    /// The variable as it may be read.
    public var constant: Constant<Value> {
        Constant(signal: signal) { [emitter] in emitter.latest }
    }
}
