/// A value that can be read and observed but not set: a view of a ``Variable``, of a
/// ``Store``'s state or of a part of it.
///
/// ```swift
/// let isHot: Constant<Bool> = temperature.constant.map { $0 > 30 }
/// isHot.value                     // computed as it is read
/// isHot.observe { alarm($0) }     // the latest first, then every change
/// ```
public struct Constant<Value: Sendable>: SignalSource {
    /// The latest value, then every change.
    public let signal: Signal<Value>
    @usableFromInline let read: @Sendable () -> Value
    /// Of what changes before its observers hear of it: says on the thread that has changed it that ``value`` may be a new one.
    @usableFromInline let predictions: Signal<Void>?

    @inlinable
    init(
        signal: Signal<Value>, predictions: Signal<Void>? = nil, read: @escaping @Sendable () -> Value
    ) {
        self.signal = signal
        self.predictions = predictions
        self.read = read
    }

    /// A value that is read apart from its signal, and changes before that says so.
    package init(signal: Signal<Value>, predictions: Signal<Void>, read: @escaping @Sendable () -> Value) {
        self.init(signal: signal, predictions: Optional(predictions), read: read)
    }

    /// A value that never changes.
    public init(_ value: Value) { self.init(signal: Signal(saying: [value])) { value } }

    /// The current value.
    @inlinable public var value: Value { read() }

    /// The transformed value, computed whenever it is read or emitted.
    @inlinable
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Constant<Other> {
        Constant<Other>(signal: signal.map(transform), predictions: predictions) { [read] in
            transform(read())
        }
    }

    /// A part of the value. Observers are not notified of a part that equals the previous one, if it can be compared.
    @inlinable
    public func select<Part: Sendable>(_ part: @escaping @Sendable (Value) -> Part) -> Constant<Part> {
        Constant<Part>(signal: signal.select(part), predictions: predictions) { [read] in part(read()) }
    }

    /// A member of the value. Observers are not notified of one that equals the previous one, if it can be compared.
    @inlinable
    public func select<Part: Sendable>(_ keyPath: KeyPath<Value, Part> & Sendable) -> Constant<Part> {
        select { $0[keyPath: keyPath] }
    }
}

extension Constant where Value: Equatable {
    /// The same value; observers are not notified of one that equals the previous one.
    @inlinable
    public func skipRepeats() -> Constant<Value> {
        Constant(signal: signal.skipRepeats(), predictions: predictions, read: read)
    }
}
