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

    /// Changes the value, without another change in between.
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

    /// A value that is read apart from its signal.
    @inlinable
    package init(
        signal: Signal<Value>, predictions: Signal<Void>? = nil, read: @escaping @Sendable () -> Value
    ) {
        self.signal = signal
        self.predictions = predictions
        self.read = read
    }

    /// A value that never changes.
    public init(_ value: Value) {
        let emitter = Emitter(value)
        emitter.finish()
        self.init(signal: Signal(emitter)) { value }
    }

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
    /// This value, without notifying observers of one that equals the previous one.
    @inlinable
    public func skipRepeats() -> Constant<Value> {
        Constant(signal: signal.skipRepeats(), predictions: predictions, read: read)
    }
}

/// Values as an asynchronous sequence.
///
/// ```swift
/// for await count in store.values(\.count) { show(count) }
/// ```
///
/// Each loop over it observes for itself from its start on: of a ``Variable``, a ``Constant`` or a ``Store``
/// it receives the current value first. It ends when the source is released or the task is cancelled, and
/// ends its observation with itself.
public struct Values<Element: Sendable>: AsyncSequence, Sendable {
    let signal: Signal<Element>
    let buffering: Buffering

    /// One loop's place in the values.
    public struct Iterator: AsyncIteratorProtocol {
        var stream: AsyncStream<Element>.Iterator

        public mutating func next() async -> Element? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await stream.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator {
        let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
            switch buffering {
            case .unbounded: .unbounded
            case .newest(let count): .bufferingNewest(count < 1 ? 1 : count)
            }
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let observation = signal.attach(nil) { emission in
            switch emission {
            case .value(let value): continuation.yield(value)
            case .end: continuation.finish()
            }
        }
        continuation.onTermination = { _ in observation.dispose() }
        return Iterator(stream: stream.makeAsyncIterator())
    }
}

/// What an asynchronous sequence keeps for a loop that is slower than its source.
public enum Buffering: Sendable {
    /// Everything. It grows as long as the loop is slower.
    case unbounded
    /// The newest values up to this number, at least one; older ones are left out.
    case newest(Int)
}

/// Finds at run time whether the values of a type can be compared, so that what is `Equatable` is recognised also where
/// the compiler no longer knows it.
///
/// Where the compiler does know it, nothing is looked up: it replaces the question by the answer.
@usableFromInline
package enum Equality {
    /// Whether values of a type can be compared.
    @inlinable
    static func isKnown<Value: Sendable>(of type: Value.Type) -> Bool { type is any Equatable.Type }

    /// How two values are compared, or nil if they can't be.
    package static func of<Value: Sendable>(_ type: Value.Type) -> (@Sendable (Value, Value) -> Bool)? {
        guard isKnown(of: type) else { return nil }
        return { areEqual($0, $1) }
    }

    /// Whether two values are known to be equal.
    ///
    /// The conformance is looked up each time, since one that belongs to an actor is valid nowhere else.
    @inlinable
    static func areEqual<Value>(_ one: Value, _ other: Value) -> Bool {
        guard let comparable = Value.self as? any Equatable.Type else { return false }
        return compare(one, other, as: comparable)
    }

    /// `Same` is `Value` itself, seen through its conformance. That makes the cast exact, also for an optional,
    /// which a dynamic cast would unwrap.
    @inlinable
    static func compare<Same: Equatable, Value>(
        _ one: Value, _ other: Value, as type: Same.Type
    ) -> Bool {
        unsafeBitCast(one, to: Same.self) == unsafeBitCast(other, to: Same.self)
    }
}
